import PipelineTestSupport
import PushLoop
import PushModel
import PushPipeline
import PushStore
import TestSupport

/// A random walk beside a model that knows what was sent, and how the server will answer each request.
///
/// The answers are a function of the seed, the message, the address and the number of the attempt, so that they do not
/// depend on the order in which requests arrive.
final class StubWalk {
    private struct Sent {
        let id: String
        let envelope: String
        let type: MessageType
        let urgency: Int64
        let names: Set<String>
        let isDropped: Bool
    }

    private let seed: UInt64
    private let scene: StubScene
    private var random: SeededRandom
    private let names: [String]
    private let registered: [String]
    private var sent: [Sent] = []
    /// The first acks that differ from those that the model expects.
    private var badAcks: [String] = []

    init(seed: UInt64, in scene: StubScene) {
        self.seed = seed
        self.scene = scene
        var random = SeededRandom(seed: seed)
        names = (0..<48).map { Self.name($0, &random) }
        registered = Array(names.prefix(24))
        self.random = random
    }

    /// Returns an address of 1 to 2,048 bytes. One in eight has ended.
    private static func name(_ number: Int, _ random: inout SeededRandom) -> String {
        if number == 0 { return "x" }
        let start = number % 8 == 7 ? "gone-\(number)-" : "n\(number)-"
        let longest = Address.maxLength - start.utf8.count
        let rest = number == 1 ? longest : Int.random(in: 0...(number % 2 == 0 ? 30 : longest), using: &random)
        return start + String(repeating: "y", count: rest)
    }

    // MARK: The server

    private static func answer(_ seed: UInt64, _ request: StubRequest, _ earlier: Int) -> StubAnswer {
        if request.name.hasPrefix("gone-") { return .refused(status: 404, .addressEnded) }
        var hash = seed &+ UInt64(earlier)
        for byte in "\(request.message ?? "")/\(request.name)".utf8 { hash = SeededRandom.mix(hash ^ UInt64(byte)) }
        let isLate = earlier >= 4
        return switch hash % 100 {
        case 0..<5: .refused(status: 400, .textRefused)
        case 5..<7: .takenLast
        case 7..<15 where !isLate: .refused(status: 503, .overloaded, retryAfter: hash & 128 == 0 ? nil : 1)
        case 15..<22 where !isLate: .silence
        default: .taken(status: 200 + Int(hash >> 32 & 3))
        }
    }

    // MARK: The walk

    func run(steps: Int) async throws {
        await scene.server.with { [seed] in $0.behavior = { Self.answer(seed, $0, $1) } }
        _ = try await scene.parts.registry.register(
            registered.map { DeviceRegistration(app: StubScene.app, token: try StubCodec().address("stub:\($0)")) })
        try await scene.openGateway()
        for step in 0..<steps {
            try await push(number: step)
            if step % 8 == 7 { await scene.passASecond() }
            if step == steps / 2 { try await restart() }
        }
        await scene.passUntilDone()
    }

    private func restart() async throws {
        await scene.close()
        try await scene.open()
        // These wait without a gateway.
        for number in 0..<20 { try await push(number: 100_000 + number) }
        try await scene.openGateway()
    }

    private func push(number: Int) async throws {
        if let old = sent.randomElement(using: &random), Int.random(in: 0..<10, using: &random) == 0 {
            return await push(old, expecting: .duplicate)
        }
        let new = try message("m\(number)")
        sent.append(new)
        await push(new, expecting: .accepted)
    }

    private func push(_ one: Sent, expecting outcome: DirectAnswer.Outcome) async {
        let answer = await scene.push(one.envelope)
        guard answer.outcome != outcome else { return }
        badAcks.append("expected \(outcome) for \(one.id), got \(String(decoding: answer.text, as: UTF8.self))")
    }

    private func message(_ id: String) throws -> Sent {
        let type = StubCodec.types.all.randomElement(using: &random)!
        let isForDevices = Int.random(in: 0..<3, using: &random) == 0
        let count = Int.random(in: 1...4, using: &random)
        let chosen = (0..<count).map { _ in (isForDevices ? registered : names).randomElement(using: &random)! }
        let audience =
            isForDevices
            ? #""devices":[\#(try chosen.map { "\"\(try scene.device($0))\"" }.joined(separator: ","))]"#
            : #""tokens":[\#(chosen.map { "\"stub:\($0)\"" }.joined(separator: ","))]"#
        var members = [#""id":"\#(id)""#, #""app":"stub""#, #""to":{\#(audience)}"#, #""push_type":"\#(type.word)""#]
        members.append(
            Bool.random(using: &random)
                ? #""alert":"Hello","custom":{"m":"\#(id)"}"#
                : #""payload":{"blink":true,"data":{"m":"\#(id)"},"text":"Hello"}"#)
        var priority = type.defaultPriority
        if Bool.random(using: &random) {
            if type != StubCodec.whisper { priority = PushPriority.allCases.randomElement(using: &random)! }
            members.append(#""priority":\#(priority.rawValue)"#)
        }
        let isDropped = Int.random(in: 0..<4, using: &random) == 0
        if isDropped { members.append(#""on_unknown":"drop""#) }
        return Sent(
            id: id, envelope: "{\(members.joined(separator: ","))}", type: type, urgency: Int64(priority.rawValue),
            names: Set(chosen), isDropped: isDropped)
    }
}

// MARK: What must hold

extension StubWalk {
    private struct Pair: Hashable {
        let message: String
        let device: DeviceID
    }

    private static let ends: Set<EventKind> = [.deliverySent, .deliveryRejected, .deliveryExpired, .deliverySuppressed]

    /// Returns the first difference between the model, the event log and what the server received.
    func firstFault() async throws -> String? {
        if let bad = badAcks.first { return bad }
        let events = try await scene.events()
        let records = await scene.server.with { $0.records }
        let devices = try Dictionary(uniqueKeysWithValues: names.map { ($0, try scene.device($0)) })
        var trails: [Pair: [StubServer.Record]] = [:]
        for record in records {
            guard let message = record.request.message, let device = devices[record.request.name] else {
                return "the server received an unknown address or message: \(record.request)"
            }
            trails[Pair(message: message, device: device), default: []].append(record)
        }
        var ends: [Pair: [ShownEvent]] = [:]
        for event in events where Self.ends.contains(event.kind) || event.isResent == false {
            guard let message = event.message, let device = event.device else { return "an end without its delivery" }
            ends[Pair(message: message, device: device), default: []].append(event)
        }
        for one in sent {
            for name in one.names.sorted() {
                let pair = Pair(message: one.id, device: devices[name]!)
                let (end, trail) = (ends.removeValue(forKey: pair) ?? [], trails.removeValue(forKey: pair) ?? [])
                if let fault = fault(in: one, name, end, trail) { return "\(one.id) to \(name.prefix(20)): \(fault)" }
            }
        }
        if let other = ends.keys.first { return "an end of a delivery that was never asked for: \(other)" }
        if let other = trails.keys.first { return "a request that was never asked for: \(other)" }
        return fault(ofMessagesIn: events) ?? fault(ofDevices: devices, given: records)
    }

    private func fault(in one: Sent, _ name: String, _ ends: [ShownEvent], _ trail: [StubServer.Record]) -> String? {
        guard ends.count == 1, let end = ends.first else { return "\(ends.count) ends: \(ends.map(\.kind))" }
        for request in trail.map(\.request) {
            guard request.kind == one.type.word, request.urgency == one.urgency, request.content.contains("Hello")
            else { return "a request of another kind: \(request)" }
        }
        let story = "\(end.kind) \(end.reason ?? "") after \(trail.map(\.answer))"
        // An attempt that another one follows was refused for a while, or never answered.
        for record in trail.dropLast() {
            switch record.answer {
            case .refused(503, _, _): break
            case .silence where !one.isDropped: break
            default: return "sent again without a reason: \(story)"
            }
        }
        let isRight =
            switch (end.kind, trail.last?.answer) {
            case (.deliverySent, .taken), (.deliverySent, .takenLast): end.providerID == trail.last?.location
            case (.deliveryRejected, .refused(let status, let reason, _)):
                [400, 404].contains(status) && end.status == UInt64(status) && end.reason == reason.rawValue
            case (.deliverySuppressed, nil): name.hasPrefix("gone-") && end.reason == "inactive"
            case (.deliveryUnknown, .silence): one.isDropped
            default: false
            }
        return isRight ? nil : story
    }

    private func fault(ofMessagesIn events: [ShownEvent]) -> String? {
        let accepted = events.filter { $0.kind == .messageAccepted }
        guard accepted.compactMap(\.message) == sent.map(\.id) else { return "accepted: \(accepted.count) messages" }
        let completed = events.filter { $0.kind == .messageCompleted }.compactMap(\.message)
        guard completed.count == sent.count, Set(completed) == Set(sent.map(\.id)) else {
            return "completed: \(completed.count) messages of \(sent.count)"
        }
        for (event, one) in zip(accepted, sent) where (event.type ?? "alert") != one.type.word {
            return "\(one.id) was accepted as \(event.type ?? "alert"), not as \(one.type.word)"
        }
        return nil
    }

    private func fault(ofDevices devices: [String: DeviceID], given records: [StubServer.Record]) -> String? {
        let used = Set(records.map(\.request.name))
        for (name, device) in devices.sorted(by: { $0.key < $1.key }) {
            let isInactive = scene.parts.registry.inactive.contains(device)
            guard isInactive == (name.hasPrefix("gone-") && used.contains(name)) else {
                return "\(name.prefix(20)) is \(isInactive ? "inactive" : "active")"
            }
        }
        return nil
    }
}
