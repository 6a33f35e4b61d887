from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure


@click.command("demo")
@click.option("--once", is_flag=True, help="Exit after the sample queries, instead of serving until Ctrl-C.")
def command(*, once: bool) -> None:
    """Start a demo environment and run sample queries. Real components, extracted and linked; needs no configuration, and
    leaves nothing but jars and class archives.

    \b
    Examples:
      navlin demo
      navlin demo --once
    """
    from navlin.demo import DemoFailed
    from navlin.demo.tour import demo
    from navlin.java import NoJava

    try:
        demo(once=once)
    except (DemoFailed, NoJava) as error:
        raise Failure(str(error), Exit.FAILED) from error
