#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pml writes, Java reads, and the other way round; scripts/check-java runs this.

java_suite.py [--only TEXT] [--seed N] [--random N] [--keyed N] [--keep DIR] -- JAVA COMMAND...     PML names the command
"""
import argparse
import os
import random
import sys
import tempfile

import java_changes
import java_concurrent
import java_evolution
import java_keyed
import java_live
import java_messages
import java_mixed
import java_random
import java_roundtrip
import java_system
import java_travel
import java_types
import support

RANDOM_TABLES, KEYED_TABLES = 30, 30  # of a run with everything else


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases with this in their name")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", random.randrange(1 << 31))))
    parser.add_argument("--random", type=int, metavar="N", help="only random tables, of N seeds")
    parser.add_argument("--keyed", type=int, metavar="N", help="primary-key tables that pml writes, of N seeds")
    parser.add_argument("--keep", metavar="DIR", help="leave the tables in this new directory")
    parser.add_argument("java", nargs="+", metavar="COMMAND")
    args = parser.parse_args()
    if not os.environ.get("PML"):
        parser.error("PML does not name the command")
    alone = args.random is not None or args.keyed is not None
    args.random = (0 if alone else RANDOM_TABLES) if args.random is None else args.random
    args.keyed = (0 if alone else KEYED_TABLES) if args.keyed is None else args.keyed
    print(f"SEED={args.seed}", flush=True)
    pml, java = support.Pml(os.environ["PML"]), support.Java(args.java)
    with tempfile.TemporaryDirectory() as scratch:
        suite = support.Suite(args.keep or scratch, args.only)
        java_random.add_cases(suite, pml, java, args.seed, args.random)
        java_keyed.add_cases(suite, pml, java, args.seed, args.keyed)
        for area in () if alone else (java_roundtrip, java_mixed, java_evolution, java_live, java_travel, java_changes, java_types,
                                         java_messages, java_system, java_concurrent):
            area.add_cases(suite, pml, java, args.seed)
        java.close()
        return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
