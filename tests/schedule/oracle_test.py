#!/usr/bin/env python3
"""Compares src/schedule with a slow and plain program: this one. It reads expressions in its own
way, takes offsets from Python's zoneinfo, and walks along every minute of some days around a change
of the clocks, remembering every local time that it has seen.

Usage: oracle_test.py FIRES      FIRES: the program of fires.c

PAWL_TEST_SEED=N runs that seed alone; otherwise PAWL_TEST_SCALE is the percentage of the rounds.
"""
import calendar
import datetime
import os
import random
import subprocess
import sys
import zoneinfo

ROUNDS = 120             # windows of time
EXPRESSIONS = 10         # in each
BEFORE_DAYS, DAYS = 3, 6  # local times are remembered from three days before the window on
UTC = datetime.timezone.utc
EPOCH = datetime.date(1970, 1, 1)
MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Program:
    """fires.c, which answers one line for one."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, *fields):
        self.process.stdin.write("\t".join(str(field) for field in fields) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"no answer to {fields}"
        return line


def zones():
    return sorted(name for name in zoneinfo.available_timezones()
                  if 2 <= len(name.split("/")) <= 3)


def offset(zone, at_s):
    moment = datetime.datetime.fromtimestamp(at_s, zone)
    return int(moment.utcoffset().total_seconds())


def changes(zone, year):
    """The instants of a year at which the offset changes."""
    start = calendar.timegm((year, 1, 1, 0, 0, 0))
    found = []
    for day in range(366):
        low, high = start + day * 86400, start + (day + 1) * 86400
        if offset(zone, low) == offset(zone, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = ((middle, high) if offset(zone, middle) == offset(zone, low)
                         else (low, middle))
        found.append(high)
    return found


# ---- expressions ----

def number(text, names, first):
    return names.index(text) + first if text in names else int(text)


def numbers(text, low, high, names=()):
    """The values of a field without special forms."""
    values = set()
    for element in text.split(","):
        body, _, step = element.partition("/")
        if body == "*":
            first, last = low, high
        elif "-" in body:
            first, last = (number(part, names, low) for part in body.split("-"))
        else:
            first = number(body, names, low)
            last = high if step else first
        span = (last - first) % (high - low + 1)
        values |= {low + (first - low + i) % (high - low + 1)
                   for i in range(0, span + 1, int(step or 1))}
    return values


def nearest(day, length, first_weekday):
    """The weekday nearest to a day; weekdays as in calendar: 5 is Saturday."""
    weekday = (first_weekday + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else 3
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day


def month_days(text, year, month):
    first, length = calendar.monthrange(year, month)
    days = set()
    for element in text.split(","):
        if element.startswith("L"):
            back = element.removeprefix("L").removesuffix("W").removeprefix("-")
            day = length - int(back or 0)
            if day >= 1:
                days.add(nearest(day, length, first) if element.endswith("W") else day)
        elif element.endswith("W"):
            if int(element[:-1]) <= length:
                days.add(nearest(int(element[:-1]), length, first))
        else:
            days |= numbers(element, 1, 31)
    return days


def week_days(text, year, month):
    length = calendar.monthrange(year, month)[1]
    days = {name: [] for name in range(7)}
    for day in range(1, length + 1):
        days[(datetime.date(year, month, day).weekday() + 1) % 7].append(day)
    found = set()
    for element in text.split(","):
        if "#" in element:
            name, nth = element.split("#")
            found |= set(days[number(name, WEEKDAYS, 0)][int(nth) - 1:int(nth)])
        elif element.endswith("L"):
            found.add(days[number(element[:-1], WEEKDAYS, 0)][-1])
        else:
            for name in numbers(element, 0, 6, WEEKDAYS):
                found |= set(days[name])
    return found


class Expression:
    def __init__(self, text):
        minute, hour, self.dom, month, self.dow = text.split()
        self.minutes = numbers(minute, 0, 59)
        self.hours = numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12, MONTHS)
        self.names_hour = len(self.hours) < 24
        self.days = {}

    def has_day(self, days):
        if days not in self.days:
            date = EPOCH + datetime.timedelta(days)
            free = {"*", "*/1", "?"}
            dom = self.dom not in free and date.day in month_days(self.dom, date.year, date.month)
            dow = self.dow not in free and date.day in week_days(self.dow, date.year, date.month)
            every = self.dom in free and self.dow in free
            self.days[days] = date.month in self.months and (every or dom or dow)
        return self.days[days]

    def matches(self, local_s):
        return (local_s // 60 % 60 in self.minutes and local_s // 3600 % 24 in self.hours
                and self.has_day(local_s // 86400))


# ---- the oracle ----

def walk(zone, from_s, until_s):
    """(instant, local time, new, lost local times) of each minute in [from, until)."""
    seen, before, steps = set(), None, []
    for at in range(from_s - BEFORE_DAYS * 86400, until_s, 60):
        local = at + offset(zone, at)
        lost = []
        if before is not None and local > before + 60:
            lost = list(range(before + 60, local, 60))
        if at >= from_s:
            steps.append((at, local, local not in seen, lost))
        seen.add(local)
        before = local
    return steps


def expect(expression, gap, steps):
    """The instants, and the gaps with the number of times that they swallow."""
    fires, swallowed = [], []
    for at, local, new, lost in steps:
        matching = sum(expression.matches(time) for time in lost) if lost else 0
        shifts = (matching and gap == "shift" and expression.names_hour
                  and len(lost) <= 3 * 60)
        plain = expression.matches(local) and (new or not expression.names_hour)
        if plain or shifts:
            fires.append(at * 1000)
        if matching and not shifts:
            swallowed.append(f"{at * 1000}:{matching}")
    return fires, swallowed


def draw(rng, local_s):
    """An expression that is likely to fire near a local time."""
    date = EPOCH + datetime.timedelta(local_s // 86400 + rng.choice((-1, 0, 0, 0, 1)))
    hour = (local_s // 3600 + rng.choice((-2, -1, 0, 0, 1, 2))) % 24
    minute = rng.choice((0, 30, rng.randrange(60), local_s // 60 % 60))
    weekday = (date.weekday() + 1) % 7
    minutes = [str(minute), "*", "*/15", "0,30", f"{minute}/7", f"50-{minute}/3", "1-59/2"]
    hours = [str(hour), str(hour), "*", "0-23", f"{hour},{(hour + 5) % 24}", "*/2", "22-4/3",
             f"{hour}-{(hour + 3) % 24}", "23-1", "0"]
    days = ["*", "*", "*", "?", str(date.day), "L", "L-1", "LW", f"{date.day}W", "*/2", "28-3",
            f"1,15,{date.day}", "L-2W,1"]
    months = ["*", "*", str(date.month), MONTHS[date.month - 1], "*/2", "NOV-FEB"]
    weekdays = ["*", "*", "*", str(weekday), WEEKDAYS[weekday], "MON-FRI", "FRI-MON",
                f"{weekday}#{(date.day - 1) // 7 + 1}", f"{WEEKDAYS[weekday]}L", "SUN,TUE#2"]
    day, week = rng.choice(days), rng.choice(weekdays)
    return " ".join((rng.choice(minutes), rng.choice(hours), day, rng.choice(months), week))


def compare(program, seed):
    rng = random.Random(seed)
    name = rng.choice(zones())
    zone = zoneinfo.ZoneInfo(name)
    year = rng.choice((rng.randrange(1970, 2199), rng.randrange(1970, 2045)))
    around = changes(zone, year) or [calendar.timegm((year, 3, 1, 0, 0, 0))]
    change = rng.choice(around)
    from_s = (change - rng.randrange(DAYS * 86400)) // 60 * 60
    if offset(zone, from_s - BEFORE_DAYS * 86400) % 60 or offset(zone, change) % 60:
        return  # Monrovia before 1972: a matter of the vectors
    steps = walk(zone, from_s, from_s + DAYS * 86400)
    for _ in range(EXPRESSIONS):
        text = draw(rng, change + offset(zone, change))
        gap = rng.choice(("skip", "shift"))
        where = f"\"{text}\" in {name}, {gap}, from {from_s} (repeat with PAWL_TEST_SEED={seed})"
        try:
            expression = Expression(text)
            fires, swallowed = expect(expression, gap, steps)
        except Exception as error:
            raise AssertionError(where) from error
        if not is_possible(expression):
            continue
        answer = program.ask("fires", name, gap, from_s * 1000,
                             (from_s + DAYS * 86400) * 1000 - 1, text)
        got, lost = answer.split("|")
        assert [int(at) for at in got.split()] == fires, f"{where}\n{got}\nnot {fires}"
        assert lost.split() == swallowed, f"{where}\n{lost}\nnot {swallowed}"


def is_possible(expression):
    """Some combinations, such as "L-2W,1" with months, are; a day that never comes is refused."""
    start = calendar.timegm((2000, 1, 1, 0, 0, 0)) // 86400
    return any(expression.has_day(start + day) for day in range(0, 28 * 366))


@test
def offsets_of_every_zone_agree(program):
    rng = random.Random(1)
    last = calendar.timegm((2199, 12, 31, 0, 0, 0))
    names = zones()
    assert len(names) > 300
    for name in names:
        zone = zoneinfo.ZoneInfo(name)
        instants = [rng.randrange(last) for _ in range(50)]
        for year in rng.sample(range(1970, 2200), 2):
            instants += [at + side for at in changes(zone, year) for side in (-1, 0)]
        answer = program.ask("offsets", name, *(at * 1000 for at in instants))
        want = [offset(zone, at) for at in instants]
        assert [int(word) for word in answer.split()] == want, f"{name}: {instants}"


@test
def instants_near_changes_of_the_clocks_agree(program):
    if "PAWL_TEST_SEED" in os.environ:
        seeds = [int(os.environ["PAWL_TEST_SEED"])]
    else:
        scale = int(os.environ.get("PAWL_TEST_SCALE", "100"))
        seeds = range(1, max(1, ROUNDS * scale // 100) + 1)
    for seed in seeds:
        compare(program, seed)


def main():
    program = Program(sys.argv[1])
    print(f"1..{len(TESTS)}")
    failed = 0
    for number_, function in enumerate(TESTS, 1):
        try:
            function(program)
            print(f"ok {number_} - {function.__name__}")
        except Exception as error:  # noqa: BLE001: whatever it is, it is told
            failed += 1
            print(f"not ok {number_} - {function.__name__}")
            print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    program.process.stdin.close()
    return 1 if program.process.wait() or failed else 0


if __name__ == "__main__":
    sys.exit(main())
