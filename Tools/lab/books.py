"""The comparison of what happened in a cluster with what it promises: for Tools/cluster.

Nothing here asks a program: everything was written down before, by the producers, by the monitor, by the simulated
Apple and in the log of the cluster."""

import collections
import dataclasses
import datetime
import uuid

from lab.nodes import APP, CONNECTIONS, STREAMS, TOPIC


def apns_id(message, token):
    """Computes the apns-id without Carillon, as anyone can."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"carillon:/{APP}/{message}/{token}"))


def time_of(line):
    """Returns the time of a line of a log, in milliseconds since 1970."""
    return datetime.datetime.fromisoformat(line.split(" ", 1)[0].replace("Z", "+00:00")).timestamp() * 1000


@dataclasses.dataclass
class Failure:
    """What was done to a node. All times are in milliseconds since 1970."""

    kind: str
    node: str
    at: float
    # How long Apple needed for an answer, in milliseconds. A killed node leaves its requests unanswered.
    latency: float = 0
    # From when on the node must not send, and when it may again.
    silent_from: float = 0
    silent_until: float = 0


class Books:
    def __init__(self, acknowledged, accepted, answers, records, log, heard, failures):
        self.acknowledged, self.accepted, self.answers = acknowledged, accepted, answers
        self.log, self.heard, self.failures = log, heard, failures
        self.records = [
            {**record, "node": record.get("topic", "").removeprefix(f"{TOPIC}.")} for record in records]
        self.wanted = {apns_id(message, token): message for message, token in acknowledged.items()}
        self.receptions = collections.defaultdict(list)
        for record in self.records:
            if record["accepted"]:
                self.receptions[record["id"]].append(record)

    def verdicts(self):
        """Yields promises, whether they were held, and what was seen."""
        yield self.carried_out()
        yield self.accepted_once()
        yield self.stored_outcomes()
        yield self.doubled()
        yield self.chains()
        yield self.answered()
        silences = [failure for failure in self.failures if failure.silent_until]
        for kind in sorted({failure.kind for failure in silences}):
            yield self.silent(kind, [failure for failure in silences if failure.kind == kind])

    def carried_out(self):
        missing = [name for id, name in self.wanted.items() if not self.receptions[id]]
        return ("What was acknowledged is carried out", not missing,
                f"{len(self.wanted)} acknowledged, {len(missing)} not received by Apple" + some(missing))

    def events(self, kind):
        topic = f"{kind.split('/')[0]}/{APP}/{kind.split('/')[1]}"
        return [event for name, _, event in self.log.values() if name == topic]

    def accepted_once(self):
        found = collections.Counter(event["message_id"] for event in self.events("message/accepted"))
        twice = [message for message, count in found.items() if count > 1]
        absent = [message for message in self.acknowledged if not found[message]]
        again = [message for message, count in self.accepted.items() if count > 1]
        return ("No id is accepted twice, and none that was acknowledged is missing in the log",
                not (twice or absent or again),
                f"{len(found)} in the log, {len(twice)} twice, {len(absent)} absent, {len(again)} answered twice as "
                f"accepted" + some(twice + absent + again))

    def stored_outcomes(self):
        """A delivery whose outcome is in the log is over: whoever owns the partition does not send it again."""
        outcomes = collections.Counter(
            (event["message_id"], event["device"]) for event in self.events("delivery/sent"))
        twice = [message for (message, _), count in outcomes.items() if count > 1]
        return ("A delivery whose outcome is stored is not sent again", not twice,
                f"{sum(outcomes.values())} deliveries are in the log as sent, {len(twice)} of them twice" + some(twice))

    def groups(self):
        """Returns for each node the number of outcomes in the largest group that it has stored."""
        nodes = {id: found[-1]["node"] for id, found in self.receptions.items()}
        sizes = collections.Counter(
            (nodes.get(event.get("apns_id")), event["ts"]) for event in self.events("delivery/sent"))
        largest = collections.Counter()
        for (node, _), size in sizes.items():
            largest[node] = max(largest[node], size)
        return largest

    def doubled(self):
        """Each notification that was received twice must be one that a node had under way when it was killed, stopped or
        cut off: unanswered, or answered so shortly before that its outcome was not stored."""
        causes = collections.defaultdict(lambda: [0, 0])
        strange = []
        for id, found in self.receptions.items():
            found.sort(key=lambda record: (record["at"], record["number"]))
            for first, second in zip(found, found[1:]):
                # The last failure of the node before the second reception.
                cause = next((
                    number for number, failure in reversed(list(enumerate(self.failures)))
                    if failure.node == first["node"] and first["at"] - 50 <= failure.at <= second["at"]), None)
                if cause is None:
                    strange.append(self.wanted.get(id, id))
                else:
                    failure = self.failures[cause]
                    isAnswered = not first.get("unanswered") and first["at"] + failure.latency < failure.at
                    causes[cause][isAnswered] += 1
        groups = self.groups()
        streams = STREAMS * CONNECTIONS
        above, most = [], [0, 0]
        for cause, (unanswered, answered) in causes.items():
            failure = self.failures[cause]
            most = [max(most[0], unanswered), max(most[1], answered)]
            if unanswered > streams or answered > 2 * groups[failure.node]:
                above.append(f"{failure.kind} {failure.node}: {unanswered} in flight of at most {streams}, {answered} "
                             f"answered of at most {2 * groups[failure.node]}")
        total = sum(map(sum, causes.values()))
        return ("A crash doubles at most what was in flight, and two groups", not (strange or above),
                f"{total} of {len(self.wanted)} were received twice, after {len(causes)} of {len(self.failures)} "
                f"failures; at most {most[0]} in flight and {most[1]} answered after one of them (two groups are "
                f"{2 * max(groups.values(), default=0)}), {len(strange)} without a failure" + some(strange + above))

    def silent(self, kind, failures):
        late = [record for failure in failures for record in self.records
                if record["node"] == failure.node and failure.silent_from < record["at"] < failure.silent_until]
        spans = sum(failure.silent_until - failure.silent_from for failure in failures) / 1000
        return (f"A node that was {kind} sends nothing after its deadline", not late,
                f"{len(failures)} times, {spans:.1f} s in all between the deadline and the next lease; {len(late)} "
                f"requests of the node reached Apple" + some([record["id"] for record in late]))

    def chains(self):
        last, gaps = {}, []
        for part, number in sorted(self.log):
            topic, previous, _ = self.log[part, number]
            if last.get((part, topic), 0) != previous:
                gaps.append(f"{topic} of part {part}: {number} names {previous}, not {last.get((part, topic), 0)}")
            last[part, topic] = number
        strange = [place for place in self.heard if place not in self.log or self.log[place][2] != self.heard[place][2]]
        unheard = [place for place in self.log if place not in self.heard]
        return ("The log of each partition has no gap, and agrees with what the monitor heard",
                not (gaps or strange),
                f"{len(self.log)} events in {len({part for part, _ in self.log})} partitions, {len(gaps)} gaps, "
                f"{len(strange)} that differ; {len(unheard)} were heard only by replay" + some(gaps + strange))

    def answered(self):
        strange = {status: count for status, count in self.answers.items()
                   if status not in ("accepted", "duplicate", "busy", "none")}
        return ("Producers see latency, and no errors", not strange, f"answers: {dict(self.answers)}")


def some(names):
    return f": {names[:5]}" if names else ""
