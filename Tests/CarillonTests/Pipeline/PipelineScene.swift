import PushLoop
import PushModel
import PushWire
import TestSupport

@testable import carillon

/// A registry in memory.
final class FakeDevices: DeviceBook {
    struct State {
        var devices: [DeviceID: DeviceRecord] = [:]
        var registered: [[DeviceRegistration]] = []
        var refusal: Failure?
        /// How many calls go well before `refusal` is thrown.
        var callsBeforeRefusal = 0
    }

    let state = Locked(State())
    private let identities: Identities

    init(_ identities: Identities) {
        self.identities = identities
    }

    var registered: [[DeviceRegistration]] { state.withLock { $0.registered } }
    var count: Int { state.withLock { $0.devices.count } }

    func put(_ device: DeviceRecord) { state.withLock { $0.devices[device.id] = device } }

    func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        try state.withLock { state throws -> [RegisteredDevice] in
            if let refusal = state.refusal {
                guard state.callsBeforeRefusal > 0 else { throw refusal }
                state.callsBeforeRefusal -= 1
            }
            state.registered.append(devices)
            return devices.map { device in
                let id = identities.device(device.app, device.token)
                let known = state.devices[id]
                var record = known ?? DeviceRecord(id: id, app: device.app, token: device.token)
                record.user = device.user ?? record.user
                record.tags = device.tags ?? record.tags
                record.locale = device.locale ?? record.locale
                record.platform = device.platform ?? record.platform
                record.appVersion = device.appVersion ?? record.appVersion
                record.registeredAt = record.registeredAt ?? 1_767_225_600_000
                record.seenAt = 1_767_225_600_000
                (record.deactivatedAt, record.reason) = (nil, nil)
                state.devices[id] = record
                return RegisteredDevice(
                    id: id, change: known == nil ? .registered : known?.isActive == true ? .known : .reactivated)
            }
        }
    }

    func device(_ id: DeviceID) async throws -> DeviceRecord? { state.withLock { $0.devices[id] } }

    func list(_ filter: DeviceFilter, after: AudienceCursor?, limit: Int) async throws -> DeviceList {
        if let after, DeviceID(after.text) == nil { throw BadCursor() }
        return state.withLock { state in
            let all = state.devices.values.sorted { $0.id < $1.id }.filter { device in
                (filter.app == nil || device.app == filter.app) && (filter.user == nil || device.user == filter.user)
                    && (filter.tag.map { device.tags.contains($0) } ?? true)
                    && (filter.isActive == nil || device.isActive == filter.isActive)
                    && (after.map { device.id.description > $0.text } ?? true)
            }
            let page = Array(all.prefix(limit))
            return DeviceList(
                devices: page, next: all.count > limit ? page.last.map { AudienceCursor($0.id.description) } : nil)
        }
    }

    func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID] {
        state.withLock { state in
            devices.filter { id in
                guard state.devices[id]?.isActive == true else { return false }
                state.devices[id]?.deactivatedAt = 1_767_225_700_000
                state.devices[id]?.reason = reason
                return true
            }
        }
    }

    func remove(_ devices: [DeviceID]) async throws -> [DeviceID] {
        state.withLock { state in devices.filter { state.devices.removeValue(forKey: $0) != nil } }
    }
}

/// Segments in memory, made as the ledger makes them.
final class FakeEvents: EventLog {
    struct State {
        var writer = LogWriter(next: 1)
        var segments: [LogSegment] = []
        var oldest: UInt64 = 1
        var reads = 0
    }

    static let start: Int64 = 1_767_225_600_000

    let state = Locked(State())
    let waiting = CommittedEvents()

    /// One segment, its first event at `time` milliseconds after the start.
    @discardableResult
    func commit(at time: Int64 = 0, _ write: (inout LogWriter, Int64) -> Void) -> LogSegment {
        let segment = state.withLock { state in
            state.writer.begin(time: Self.start + time, reserving: 100)
            write(&state.writer, Self.start + time)
            let segment = state.writer.finish()
            state.segments.append(segment)
            return segment
        }
        waiting.committed(upTo: segment.last)
        return segment
    }

    func damage(_ index: Int) {
        state.withLock { state in
            let whole = state.segments[index]
            state.segments[index] = LogSegment(
                first: whole.first, count: whole.count, time: whole.time, bytes: Array(whole.bytes.dropLast(3)))
        }
    }

    /// As the retention does.
    func forget(_ count: Int) {
        state.withLock { state in
            state.segments.removeFirst(count)
            state.oldest = state.segments.first?.first ?? state.writer.next
        }
    }

    func read(since: UInt64, limit: Int) async throws -> LogPage {
        state.withLock { state in
            state.reads += 1
            var left = limit
            var found: [LogSegment] = []
            for segment in state.segments where segment.last > since && left > 0 {
                found.append(segment)
                left -= segment.count
            }
            return LogPage(segments: found, oldest: state.oldest, newest: state.writer.next - 1)
        }
    }

    /// More than was asked for, as a port may.
    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] {
        state.withLock { Array($0.segments.prefix(limit)) }
    }
}

final class FakeStatistics: PipelineStatistics {
    let answers: Locked<[StatsAnswer]>

    init(_ answers: [StatsAnswer]) {
        self.answers = Locked(answers)
    }

    /// The last one stays.
    func snapshot() async -> StatsAnswer {
        answers.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
}

/// A control server with a pipeline of fakes behind it.
struct PipelineScene: Sendable {
    let control: RunningControl
    let devices: FakeDevices
    let events: FakeEvents

    static let identities = Identities(secret: Array(0..<32))!
    /// Longer than any test takes on a busy machine: who waits is woken, and not told that the time is over.
    static let longestWait: UInt64 = 3600
    static let shop = AppID("shop")!
    static let news = AppID("news")!

    static func token(_ number: UInt8) -> DeviceToken {
        DeviceToken(bytes: [UInt8](repeating: number, count: 32))!
    }

    static func id(_ number: UInt8, app: AppID = shop) -> DeviceID { identities.device(app, token(number)) }

    /// The program as a child, its socket named.
    func run(_ arguments: String...) async throws -> ChildProcess.Ended { try await run(arguments) }

    func run(_ arguments: [String]) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(ChildProcess.carillon, arguments + ["--data", control.data])
    }
}

func withPipeline(
    statistics: [StatsAnswer] = [StatsAnswer(at: 2000, startedAt: 1000, ready: true)],
    _ body: (PipelineScene) async throws -> Void
) async throws {
    let devices = FakeDevices(PipelineScene.identities)
    let events = FakeEvents()
    let routes = PipelineRoutes.all(
        devices: devices, events: events, waiting: events.waiting, statistics: FakeStatistics(statistics),
        identities: PipelineScene.identities, apps: { [PipelineScene.shop, PipelineScene.news] },
        longestWait: PipelineScene.longestWait)
    try await withControl(more: routes) { control in
        try await body(PipelineScene(control: control, devices: devices, events: events))
    }
}

extension LogWriter {
    static func message(_ id: String, app: AppID = PipelineScene.shop) -> Message {
        Message(id: MessageID(id)!, app: app, payload: Array("{}".utf8))
    }

    mutating func add(
        _ what: DeliveryRecord.What, of message: Message, to device: DeviceID, attempt: UInt16 = 1,
        acceptedAt: Int64 = FakeEvents.start, at now: Int64
    ) {
        add(
            DeliveryRecord(
                seq: 1, fingerprint: PipelineScene.identities.message(message.app, message.id), acceptedAt: acceptedAt,
                message: message, device: device, apnsID: APNSID(high: 1, low: 2), attempt: attempt, what: what),
            at: now)
    }

    /// A message for so many devices, or for as many as there are.
    mutating func add(accepted message: Message, named: Int?, at now: Int64) {
        let tokens = named.map { (0..<$0).map { DeviceToken(words: (UInt64($0), 1, 2, 3)) } }
        add(accepted: PushRequest(message, to: tokens.map { .tokens($0) } ?? .everyone), at: now)
    }

    mutating func complete(_ message: Message, _ counts: OutcomeCounts, isExpired: Bool = false, at now: Int64) {
        add(CompletedMessage(seq: 1, message: message, counts: counts, isExpired: isExpired), at: now)
    }

    mutating func add(
        _ kind: EventKind, app: AppID? = PipelineScene.shop, message: String? = nil, device: DeviceID? = nil,
        reason: String? = nil, details: [EventDraft.Detail] = [], at now: Int64
    ) {
        var draft = EventDraft(kind, app: app)
        draft.messageID = message.flatMap { MessageID($0) }
        draft.device = device
        draft.reason = reason
        draft.details = details
        add(draft, at: now)
    }
}
