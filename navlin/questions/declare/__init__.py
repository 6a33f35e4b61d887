"""Building blocks of a question's declaration. The modules load hardly anything when imported, because ``navlin
--help`` imports all declarations."""
