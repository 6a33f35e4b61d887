"""The parts of a declaration. They load nothing but the standard library: ``navlin --help`` reads all declarations."""
