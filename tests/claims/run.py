"""Attacks all claims for a while, and prints a table: ``make verify``.

An interruption ends the run, and what has been done until then is shown.
"""

import argparse
import csv
import json
import sys
import time
import traceback
from datetime import UTC, datetime

from tqdm import tqdm

from claims.all import find_claims
from claims.claim import Record, attack
from okbook.tables.cells import run_environment, table_folder
from okbook.tables.runs import list_files

TURN = 25  # attempts in a turn


class Records(list):
    "What has happened to each claim, until the time was over or somebody ended it."

    interrupted = False


def attack_all(claims, seconds, seed, quiet=True):
    """Attack claims until the time is over; the next turn is that of the claim that
    has used the least. A claim that has failed is not tried again. Time counts after
    a first round, in which Numba compiles. An interruption leaves what was done. A seed
    has the same problems for a claim on every machine; a faster one tries more."""
    records, start = Records(map(Record, claims)), None
    shown = "{percentage:3.0f}%|{bar}| {n:.0f} of {total:.0f} s{postfix}"
    with tqdm(total=seconds, disable=quiet, bar_format=shown) as bar:
        while left := [record for record in records if not record.failure]:
            if start is None and all(record.attempts for record in left):
                start = time.monotonic()
                for record in records:
                    record.seconds = 0.0
            passed = 0.0 if start is None else time.monotonic() - start
            bar.update(min(passed, seconds) - bar.n)
            if start is not None and passed >= seconds:
                break
            record = min(left, key=lambda r: (r.attempts > 0, r.seconds))
            bar.set_postfix_str(record.claim.name, refresh=False)
            begun = time.monotonic()
            try:
                attack(record.claim, (seed << 32) + record.attempts, TURN, record)
            except KeyboardInterrupt:
                records.interrupted = True
                break
            except Exception as error:
                record.failure = "".join(traceback.format_exception(error, limit=-3))
            record.seconds += time.monotonic() - begun
    return records


def table_rows(records):
    "A row of texts for each claim."
    return [
        {
            "claim": r.claim.name,
            "statement": r.claim.claim,
            "oracle": r.claim.oracle,
            "attempts": str(r.attempts),
            "agreed": str(r.outcomes["agrees"]),
            "error": f"{r.error:.1e}",
            "strain": f"{r.strain:.2g}",
            "ties": "; ".join(f"{n} {why}" for why, n in sorted(r.ties.items())),
            "refused": str(r.outcomes["refused"]),
            "passed_over": str(r.outcomes["passed over"]),
            "seconds": f"{r.seconds:.1f}",
            "disagrees": "yes" if r.failure else "",
        }
        for r in records
    ]


def format_table(records):
    "The run for a terminal, with what was refuted."
    shown = ("claim", "attempts", "agreed", "error", "strain", "refused", "passed_over")
    table = [shown, *([row[name] for name in shown] for row in table_rows(records))]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True))
        for line in table
    ]
    failed = [r for r in records if r.failure]
    attempts = sum(r.attempts for r in records)
    end = ", interrupted" if records.interrupted else ""
    lines.append(f"{attempts:,} attempts, {len(failed)} disagreements{end}")
    for r in records:
        if r.says_nothing:
            told = f"{r.outcomes['agrees']} of {r.attempts:,} attempts agree"
            lines.append(f"{r.claim.name} SAYS NOTHING: {told}")
    return "\n".join(lines + [f"\n{r.claim.name}\n{r.failure}" for r in failed])


def store_run(records, seconds, seed):
    "Keep the table beside the other tables of the book, for the page that shows it."
    folder = table_folder("verify", write=True)
    folder.mkdir(parents=True, exist_ok=True)
    rows = table_rows(records)
    with (folder / "run.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"seed": seed, "seconds": seconds, "time": now, **run_environment()}
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n")
    list_files(folder, written=("run.csv", "run.json"))
    return folder


def main():
    told = argparse.ArgumentDefaultsHelpFormatter
    description = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(
        "claims", description=description, formatter_class=told
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="*", help="claims with such names")
    parser.add_argument("--store", action="store_true", help="keep the table")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    args = parser.parse_args()
    if not (claims := find_claims(args.only)):
        parser.error(f"no claim has the name {args.only!r}")
    if args.store and args.only != "*":
        parser.error("--store keeps a run of all claims: leave out --only")
    for name in ("seconds", "seed"):
        if not getattr(args, name) >= 0:
            parser.error(f"--{name} must not be negative: got {getattr(args, name)}")
    records = attack_all(claims, args.seconds, args.seed, args.quiet)
    print(format_table(records))
    print(f"seed {args.seed}")
    if records.interrupted:
        return 130
    if args.store:
        print(f"stored in {store_run(records, args.seconds, args.seed)}")
    return int(any(r.failure or r.says_nothing for r in records))


if __name__ == "__main__":
    sys.exit(main())
