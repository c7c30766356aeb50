import FoundationEssentials
import PushModel
import PushTime
import PushWire
import ServerTestSupport
import TestSupport
import Testing

@testable import PushAPI
@testable import PushStore

/// The names of ids and times in the JSON of the control socket and the command line: the id of a message is
/// `message_id`, and that of a device is `device`. The name of a time ends in `_at`, and its value is in milliseconds
/// since 1970; the name of a duration ends in `_ms`, and its value is in milliseconds.
@Suite struct FieldNamesTests {
    /// Returns the member names in a JSON text that break the rule.
    static func faults(_ json: [UInt8]) throws -> [String] {
        let document = try JSONDocument(json)
        var faults: [String] = []
        walk(document, document.root, &faults)
        return faults
    }

    private static func walk(_ document: JSONDocument, _ place: JSONDocument.Position, _ faults: inout [String]) {
        for member in document.members(place) {
            let name = document.string(member.key) ?? ""
            let isNumber = document.kind(member.value).isNumber
            if name == "id", document.kind(member.value).isString { faults.append(name) }
            if ["at", "time", "since", "ts", "next_due", "not_after", "not_before"].contains(name) {
                faults.append(name)
            }
            if name.hasSuffix("_seconds") || name.hasPrefix("seconds_") { faults.append(name) }
            if name.hasSuffix("_at") || name.hasSuffix("_ms") {
                let isList = document.kind(member.value) == .array
                if !isNumber, !isList { faults.append(name) }
                if name.hasSuffix("_at"), let time = document.integer(member.value), time != 0, time < 1_000_000_000_000
                {
                    faults.append("\(name) in seconds")
                }
            }
            walk(document, member.value, &faults)
        }
        for element in document.elements(place) { walk(document, element, &faults) }
    }

    private static let now: WallTime = 1_767_225_600_000

    static var device: DeviceAnswer {
        var record = DeviceRecord(
            id: PipelineScene.id(1), app: PipelineScene.shop, token: PipelineScene.token(1), tags: ["a"])
        (record.registeredAt, record.seenAt, record.deactivatedAt) = (now, now, now)
        return DeviceAnswer(record)
    }

    static var message: MessageSummary {
        var request = MessageSummary.Request()
        (request.expiresAt, request.notBeforeAt, request.users) = (now, now, ["ada"])
        return MessageSummary(
            app: "shop", id: "m", state: .completed, seq: 1, acceptedAt: now, acceptances: 1, duplicates: 0, devices: 1,
            request: request, counts: .init(), retries: 0, completedAt: now, reason: nil, detail: nil, isWhole: true)
    }

    static var statistics: StatsAnswer {
        var answer = StatsAnswer(at: now, startedAt: now, ready: true)
        answer.backlog = .init(waiting: 1, scheduled: 1, nextDue: now, oldestWaitingMilliseconds: 5)
        var ledger = StatsAnswer.Ledger()
        ledger.lastCommitMilliseconds = 1.5
        answer.ledger = ledger
        var app = StatsAnswer.App(app: "shop", state: "up")
        app.latency = Latency(bounds: [1], counts: [1, 2])
        (app.oldestWaitingMilliseconds, app.oldestUnansweredMilliseconds) = (5, 7)
        answer.apps = [app]
        return answer
    }

    static var cluster: ClusterAnswer {
        var view = ClusterView(at: now, node: "a")
        (view.joinedAt, view.renewalAgeMilliseconds) = (now, 5)
        view.nodes = [
            .init(
                "a", state: .live, address: "tcp://a:1", partitions: 1, lease: .seconds(5), remaining: .seconds(4),
                version: "1", startedAt: now)
        ]
        view.partitions = [.init(0, owner: "a", epoch: 1, since: now, state: .serving)]
        (view.database.clockOffsetMilliseconds, view.database.roundTripMilliseconds) = (-1, 0.5)
        view.events = [.init(.takeover, at: now, node: "b", parts: [0], text: "taken")]
        return ClusterAnswer(cluster: view)
    }

    static let answers: [(name: String, json: [UInt8])] = [
        ("device", APIAnswer.json(device).body),
        (
            "registration",
            APIAnswer.json(RegistrationAnswer(RegisteredDevice(id: PipelineScene.id(1), change: .known))).body
        ),
        ("deactivation", APIAnswer.json(DeactivationAnswer(id: "x", deactivated: true)).body),
        ("removal", APIAnswer.json(RemovalAnswer(id: "x", removed: true)).body),
        ("message", APIAnswer.json(message).body), ("statistics", APIAnswer.json(statistics).body),
        ("cluster", APIAnswer.json(cluster).body),
    ]

    @Test(arguments: answers.map(\.name)) func `Ids, times and durations are named by the rule`(_ name: String) throws {
        let json = try #require(Self.answers.first { $0.name == name }?.json)
        #expect(try Self.faults(json) == [])
    }

    @Test func `The answers contain ids and times under these names`() throws {
        func keys(_ json: [UInt8]) throws -> Set<String> {
            let document = try JSONDocument(json)
            return Set(document.members(document.root).compactMap { document.string($0.key) })
        }
        #expect(try keys(Self.answers[0].json).contains("device"))
        #expect(try keys(Self.answers[4].json).isSuperset(of: ["message_id", "accepted_at", "expires_at", "users"]))
        #expect(try keys(Self.answers[5].json).isSuperset(of: ["taken_at", "started_at"]))
        let message = try JSONDecoder().decode(MessageSummary.self, from: Data(Self.answers[4].json))
        #expect(message == Self.message)
    }

    @Test func `The check finds names that break the rule`() throws {
        let bad = #"{"id":"m","list":[{"age_seconds":5,"next_due":1,"due_at":1767225600,"took_ms":"5"}]}"#
        #expect(try Self.faults(Array(bad.utf8)) == ["id", "age_seconds", "next_due", "due_at in seconds", "took_ms"])
    }
}
