import FoundationEssentials
import PushModel
import PushWire
import TestSupport
import Testing

@testable import carillon

/// The names of ids and of times in everything that verbs and the control socket write as JSON: a message's id is
/// `message_id`, a device's is `device`; a time is in milliseconds since 1970 and ends in `_at`, a duration in
/// milliseconds and ends in `_ms`.
@Suite struct FieldNamesTests {
    /// The member names in a JSON text that break the rule.
    static func faults(_ json: [UInt8]) throws -> [String] {
        let document = try JSONDocument(json)
        var faults: [String] = []
        walk(document, document.root, &faults)
        return faults
    }

    private static func walk(_ document: JSONDocument, _ place: JSONDocument.Place, _ faults: inout [String]) {
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

    private static let now: Int64 = 1_767_225_600_000

    static var device: DeviceAnswer {
        var record = DeviceRecord(
            id: PipelineScene.id(1), app: PipelineScene.shop, token: PipelineScene.token(1), tags: ["a"])
        (record.registeredAt, record.seenAt, record.deactivatedAt) = (now, now, now)
        return DeviceAnswer(record)
    }

    static var message: MessageAnswer {
        var request = MessageAnswer.Request()
        (request.expiresAt, request.notBeforeAt, request.users) = (now, now, ["ada"])
        return MessageAnswer(
            app: "shop", id: "m", state: .completed, seq: 1, acceptedAt: now, acceptances: 1, duplicates: 0, devices: 1,
            request: request, counts: .init(), retries: 0, completedAt: now, reason: nil, detail: nil, isWhole: true)
    }

    static var statistics: StatsAnswer {
        var answer = StatsAnswer(at: now, startedAt: now, ready: true)
        answer.backlog = .init(waiting: 1, scheduled: 1, nextDue: now)
        var ledger = StatsAnswer.Ledger()
        ledger.lastCommitMilliseconds = 1.5
        answer.ledger = ledger
        var app = StatsAnswer.App(app: "shop", state: "up")
        app.latency = Latency(bounds: [1], counts: [1, 2])
        answer.apps = [app]
        return answer
    }

    static let answers: [(name: String, json: [UInt8])] = [
        ("device", ControlAnswer.json(device).body),
        (
            "registration",
            ControlAnswer.json(RegistrationAnswer(RegisteredDevice(id: PipelineScene.id(1), change: .known))).body
        ),
        ("deactivation", ControlAnswer.json(DeactivationAnswer(id: "x", deactivated: true)).body),
        ("removal", ControlAnswer.json(RemovalAnswer(id: "x", removed: true)).body),
        ("message", ControlAnswer.json(message).body), ("statistics", ControlAnswer.json(statistics).body),
    ]

    @Test(arguments: answers.map(\.name)) func `ids and times have one name`(_ name: String) throws {
        let json = try #require(Self.answers.first { $0.name == name }?.json)
        #expect(try Self.faults(json) == [])
    }

    @Test func `the ids are there under it`() throws {
        func keys(_ json: [UInt8]) throws -> Set<String> {
            let document = try JSONDocument(json)
            return Set(document.members(document.root).compactMap { document.string($0.key) })
        }
        #expect(try keys(Self.answers[0].json).contains("device"))
        #expect(try keys(Self.answers[4].json).isSuperset(of: ["message_id", "accepted_at", "expires_at", "users"]))
        #expect(try keys(Self.answers[5].json).isSuperset(of: ["taken_at", "started_at"]))
        let message = try JSONDecoder().decode(MessageAnswer.self, from: Data(Self.answers[4].json))
        #expect(message == Self.message)
    }

    @Test func `the rule finds what breaks it`() throws {
        let bad = #"{"id":"m","list":[{"age_seconds":5,"next_due":1,"due_at":1767225600,"took_ms":"5"}]}"#
        #expect(try Self.faults(Array(bad.utf8)) == ["id", "age_seconds", "next_due", "due_at in seconds", "took_ms"])
    }
}
