import FCM
import PushModel
import PushPipeline
import TestTraits
import Testing

@testable import APNs
@testable import PushWire

/// Tests that `Documentation/Protocol.md` agrees with the code.
@Suite struct ProtocolPageTests {
    private let page: ProtocolPage

    init() throws {
        page = try ProtocolPage()
    }

    // MARK: Requests

    @Test func `The page lists the keys of an envelope`() throws {
        #expect(Set(try page.table(under: "Envelope").words) == Set(EnvelopeKey.allCases.map(\.name)))
        #expect(try page.table(under: "Envelope").rows.count == EnvelopeKey.count)
    }

    @Test func `The page lists the reasons of rejections`() throws {
        #expect(try page.table(under: "Reasons").words.sorted() == RejectionReason.allCases.map(\.rawValue).sorted())
    }

    @Test func `The page lists the push types with their sizes`() throws {
        let rows = try page.table(under: "Push types").rows
        #expect(rows.map { [$0[0], $0[1]] } == PushType.allCases.map { [$0.rawValue, "\($0.payloadLimit)"] })
    }

    @Test func `The page lists each status with its members`() throws {
        let id = try #require(MessageID("m-1"))
        let finding = PayloadFinding(
            severity: .ignored, code: .unknownKey, path: "aps.x", problem: "p", advice: "a", offset: nil)
        var acks = Array(repeating: [UInt8](), count: 6)
        let apps = Array(#"{"ios":"accepted"}"#.utf8)
        AckText.accepted(id: id, seq: 1, apps: apps, findings: PayloadFinding.ack([finding]), to: &acks[0])
        AckText.duplicate(id: id, seq: 1, apps: apps, findings: PayloadFinding.ack([finding]), to: &acks[1])
        AckText.rejected(id: "m-1", Rejection(.badFrame, detail: "d"), to: &acks[2])
        AckText.busy(id: "m-1", retryAfterMS: 1, to: &acks[3])
        AckText.cancelled(id: id, CancelCounts(sent: 1, cancelled: 2), apps: apps, to: &acks[4])
        AckText.tooLate(id: id, apps: apps, to: &acks[5])
        let table = try page.table(under: "Status")
        var documented: [String: Set<String>] = [:]
        for row in table.rows {
            documented[row[0]] = Set(row[1].split(separator: ",").map { $0.filter { $0 != "`" && $0 != " " } })
        }
        #expect(documented.count == acks.count && table.rows.count == acks.count)
        for ack in acks {
            let members = try JSONValue(parsing: String(decoding: ack, as: UTF8.self)).object
            #expect(documented[members["status"]?.string ?? ""] == Set(members.keys).subtracting(["status"]))
        }
        for example in try page.blocks("ack").map(\.object) {
            #expect(
                documented[example["status"]?.string ?? ""]?.union(["status"]).isSuperset(of: example.keys) == true)
        }
        #expect(try page.blocks("ack").count == 2)
    }

    /// The findings for which intake rejects a payload, or which it never looks for.
    private static let neverInAck: Set<PayloadFinding.Code> = [
        .empty, .tooLarge, .notJSON, .notObject, .apsNotObject, .notContentAvailable, .visibleInBackground,
        .contentNotChanged, .missingKey, .broadcastStart, .badPriority, .badCollapseID, .wrongTopic, .badExpiration,
        .expirationTooLate, .expirationPast,
    ]

    /// The codes of the findings that an ack can have, of all push services.
    static var inAck: Set<String> {
        Set(PayloadFinding.Code.allCases.filter { !neverInAck.contains($0) }.map(\.word))
            .union(FCMFinding.Code.allCases.map(\.rawValue))
    }

    @Test func `The page lists the codes of findings`() throws {
        #expect(try page.table(under: "Findings").words.sorted() == Self.inAck.sorted())
    }

    // MARK: Words

    @Test func `The page lists the reasons of events`() throws {
        // These switches do not compile when a case is missing here.
        func all(_ one: UnknownCause) -> [UnknownCause] {
            switch one {
            case .timeout, .connectionLost, .reset, .serverError:
                [.timeout, .connectionLost, .reset, .serverError]
            }
        }
        func all(_ one: DeliveryOutcome.Suppression) -> [DeliveryOutcome.Suppression] {
            switch one {
            case .inactive, .duplicate, .unknownDevice, .erased, .reassigned:
                [.inactive, .duplicate, .unknownDevice, .erased, .reassigned]
            }
        }
        func all(_ one: GatewayEvent.ScaleCause) -> [GatewayEvent.ScaleCause] {
            switch one {
            case .asked, .busy, .idle: [.asked, .busy, .idle]
            }
        }
        func all(_ one: GatewayHalt.Kind) -> [GatewayHalt.Kind] {
            switch one {
            case .refused, .certificate, .providerToken: [.refused, .certificate, .providerToken]
            }
        }
        func words(_ kind: String) throws -> [String] { try page.table(headed: "reason of `\(kind)`").words }
        #expect(try words("delivery.unknown") == all(UnknownCause.timeout).map(\.rawValue))
        #expect(try words("delivery.suppressed") == all(DeliveryOutcome.Suppression.inactive).map(\.rawValue))
        #expect(try words("connection.scaled") == all(GatewayEvent.ScaleCause.asked).map(\.rawValue))
        #expect(try words("connection.down").sorted() == ConnectionFault.Code.allCases.map(\.rawValue).sorted())
        #expect(try words("credential.failed") == ["unusable"] + all(GatewayHalt.Kind.refused).map(\.rawValue))
    }

    // MARK: Events

    @Test func `The page describes each kind of event once`() throws {
        let kinds =
            EventKind.allCases.filter { !$0.isReceipt && !$0.isOperator }.map { "\($0.family).\($0.name)" }
            + ["receipt.KIND", "operator.ACTION"]
        #expect(try page.kinds().map(\.name).sorted() == kinds.sorted())
        let receipts = EventKind.allCases.filter(\.isReceipt).map { "\($0.name)" }
        #expect(try page.table(headed: "KIND").words == receipts)
        let actions = EventKind.allCases.filter(\.isOperator).map { "\($0.name)" }
        #expect(try page.table(headed: "ACTION").words == actions)
    }

    /// Returns the name under which the page describes an event. The kinds of receipts have one description, and so have
    /// those of operators.
    private static func name(of event: [String: JSONValue]) -> String {
        let family = event["family"]?.string ?? ""
        if family == "operator" { return "operator.ACTION" }
        return family == "receipt" ? "receipt.KIND" : "\(family).\(event["kind"]?.string ?? "")"
    }

    @Test func `The examples of events have exactly documented members`() throws {
        for kind in try page.kinds() {
            #expect(kind.examples.count == 1, "\(kind.name)")
            for example in kind.examples { Self.check(example, of: kind) }
        }
    }

    /// Compares an event with the description of its kind.
    private static func check(_ event: JSONValue, of kind: ProtocolPage.Kind) {
        let members = event.object
        #expect(Self.name(of: members) == kind.name)
        let known = Dictionary(uniqueKeysWithValues: kind.members.map { ($0.name, $0) })
        for member in common where members[member.key]?.typeName != member.value {
            Issue.record("\(kind.name) needs \(member.key): \(member.value)")
        }
        for (name, value) in members where common[name] == nil {
            #expect(known[name]?.types.contains(value.typeName) == true, "\(kind.name) has \(name): \(value.typeName)")
        }
        for member in kind.members where member.isAlways {
            #expect(members[member.name] != nil, "\(kind.name) lacks \(member.name)")
        }
    }

    private static let common = [
        "v": "integer", "seq": "integer", "prev": "integer", "ts": "integer", "family": "string", "app": "string",
        "kind": "string",
    ]

    @Test func `The page lists the members of all events`() throws {
        let table = try page.table(under: "Events", headed: "member")
        #expect(Dictionary(uniqueKeysWithValues: table.rows.map { ($0[0], $0[1]) }) == Self.common)
    }

    @Test(.waits)
    func `Each kind of event that a real run emits has exactly the documented members`() async throws {
        var seen: [String: Set<String>] = [:]
        let kinds = Dictionary(uniqueKeysWithValues: try page.kinds().map { ($0.name, $0) })
        for line in try await PythonScene.run("protocol_page", "event_kinds").split(separator: "\n") {
            let event = try JSONValue(parsing: String(line))
            let name = Self.name(of: event.object)
            Self.check(event, of: try #require(kinds[name], "\(name) is not described"))
            seen[name, default: []].formUnion(event.object.keys)
        }
        for (name, kind) in kinds {
            let documented = Set(kind.members.map(\.name)).union(Self.common.keys)
            let members = seen[name]?.union(Self.rare[name] ?? [])
            #expect(members == documented, "\(name): \(documented.symmetricDifference(members ?? []).sorted())")
        }
    }

    private static let rare: [String: Set<String>] = [
        // The brake may close before the first device is deactivated.
        "device.brake": ["deactivated_since"],
        // The run has apps at APNs only. The scene of Web Push has this member.
        "delivery.sent": ["provider_id"],
        // The run uses the control socket, which needs no key.
        "operator.ACTION": ["roles", "from"],
    ]

    // MARK: Exchanges

    @Test(.waits) func `The requests of the page have the replies of the page`() async throws {
        try await PythonScene.run("protocol_page", "exchanges")
    }

    @Test(.waits) func `The replay request of the page has the reply of the page`() async throws {
        try await PythonScene.run("protocol_page", "replay_replies")
    }

    @Test func `The page has the members of replay answers and of the heartbeat`() throws {
        func members(_ bytes: [UInt8]) throws -> Set<String> {
            Set(try JSONValue(parsing: String(decoding: bytes, as: UTF8.self)).object.keys)
        }
        #expect(
            try members(ReplayAnswer.end(next: 1, oldest: 1))
                == Set(try page.table(headed: "member of `replay-end/1`").words))
        let errors = try page.table(headed: "error in `replay-error/1`")
        #expect(
            errors.words == ["bad_frame", "bad_json", "bad_field", "forbidden", "busy", "unavailable", "damaged"])
        let all = try members(ReplayAnswer.error("e", detail: "d", retryAfter: 1, next: 1)).subtracting(["error"])
        #expect(
            Set(errors.rows.flatMap { $0[1].split(separator: ",").map { $0.filter { $0 != "`" && $0 != " " } } }) == all
        )
        #expect(try page.blocks("replay-error").count == 1)
        let heartbeat = try #require(page.blocks("heartbeat").first)
        #expect(Set(heartbeat.object.keys) == Set(try page.table(under: "Heartbeat").words))
        let request = try page.table(headed: "member of `replay/1`")
        let given = #"{"since":1,"prefix":"delivery/","limit":1}"#
        #expect(try ReplayRequest.read(Array(given.utf8)) == ReplayRequest(since: 1, prefix: "delivery/", limit: 1))
        #expect(Set(try JSONValue(parsing: given).object.keys) == Set(request.words))
    }

    // MARK: Bounds

    @Test func `The bounds of the page are those of the code`() {
        let replays = EventBusSettings(publish: nil, replay: nil).replays
        let limits = PipelineLimits()
        for phrase in [
            "up to \(Self.grouped(EnvelopeReader.maxLines)) envelopes",
            "object of at most \(EnvelopeReader.maxEnvelopeLength >> 20) MiB",
            "1 to \(Self.grouped(Audience.maxNames)); each 1 to \(Address.maxTokenLength) bytes",
            "\(TagExpression.maxTags) tags of 1 to 128 bytes, \(TagExpression.maxDepth) levels",
            "| `limit` | integer | \(ReplayRequest.defaultLimit) |",
            "Carillon returns at most \(Self.grouped(replays.limit))",
            "looks at \(Self.grouped(replays.lookedAt)) events",
            "\(replays.concurrent) replays run, or \(replays.concurrentOfOneKey) of this key",
            "accepts nothing for \(replays.patience.components.seconds)\nseconds",
            "| \(Self.grouped(limits.unanswered)), or \(limits.unansweredBytes >> 20) MiB |",
            "`limits.waiting` (\(Self.grouped(AppLimits().waiting)))",
            "An ack has at most ten",
        ] {
            // The page itself would fill the report.
            let isStated = page.text.contains(phrase)
            #expect(isStated, "the page does not say: \(phrase)")
        }
    }

    private static func grouped(_ number: Int) -> String {
        var digits = Array(String(number))
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return String(digits)
    }
}
