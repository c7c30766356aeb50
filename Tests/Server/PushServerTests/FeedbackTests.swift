import APNs
import Foundation
import PushLogic
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushWire
import TestSupport
import Testing

@Suite struct FeedbackTests {
    private static let shop = AppID("shop")!
    private static let news = AppID("news")!
    private static let identities = Identities(secret: Array(1...32))!
    /// The time of the registry's clock at the start.
    private static let start: WallTime = 1_000_000_000

    /// Feedback on a real loop, with a real registry on disk and the events between them.
    private struct Scene: Sendable {
        let loop: EventLoop
        let registry: SQLiteRegistry
        let ledger: NotingLedger
        let feedback: Feedback
        let clock: Locked<WallTime>

        static func run(
            limits: Feedback.Limits = Feedback.Limits(), _ body: (Scene) async throws -> Void
        ) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "feedback-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (ledger, clock) = (NotingLedger(), Locked(FeedbackTests.start))
            let registry = try await SQLiteRegistry.open(
                directory: folder.path(), identities: identities, note: { await ledger.note($0) },
                now: { clock.withLock { $0 } })
            let loop = EventLoop(name: "feedback", clock: .manual(start: MonotonicTime(nanoseconds: 1)))
            let feedback = Feedback(
                on: loop, registry: registry, ledger: ledger, identities: identities, limits: limits,
                wallClock: { clock.withLock { $0 } },
                log: Logger("feedback", to: LogOutput(level: .error)))
            let scene = Scene(loop: loop, registry: registry, ledger: ledger, feedback: feedback, clock: clock)
            try await body(scene)
            await feedback.stop()
            await registry.close()
            await loop.shutDown()
        }

        func register(_ numbers: Range<Int>) async throws {
            _ = try await registry.register(
                numbers.map { DeviceRegistration(app: FeedbackTests.shop, token: FeedbackTests.token($0)) })
        }

        /// Reports answers of the push service, and candidates among them.
        func report(answers: Int = 0, _ candidates: [Deactivation] = [], app: AppID = FeedbackTests.shop) {
            feedback.take([ProviderAnswers(app: app, count: answers, candidates: candidates)])
        }

        func settled(_ isMet: @Sendable (Feedback.Status) -> Bool) async -> Feedback.Status {
            await wait(for: { await feedback.status }, until: isMet)
        }

        /// Waits until each taken candidate has been counted in a result.
        func settled(taken: Int) async -> Feedback.Status {
            await settled { status in
                status.taken == taken
                    && status.dropped + status.held + status.alive + status.known + status.deactivated + status.failed
                        == taken
            }
        }

        /// Applies the events to the registry, as its follower does.
        func applied() async throws { try await registry.catchUp(from: ledger) }
    }

    private static func token(_ number: Int) -> Address { Address(words: (UInt64(number) &+ 1, 2, 3, 4)) }
    private static func id(_ number: Int) -> DeviceID { identities.device(of: shop, token: token(number)) }

    private static func candidate(
        _ number: Int, _ reason: ProviderReason = "Unregistered", at evidence: WallTime = start + 100, app: AppID = shop
    ) -> Deactivation {
        Deactivation(
            of: identities.device(of: app, token: token(number)), app: app, reason: reason.rawValue, evidence: evidence,
            messageID: MessageID("m-\(number)")!, deliveryID: DeliveryID(high: 7, low: UInt64(number)),
            isMisdirected: reason == "BadDeviceToken")
    }

    @Test func `A dead device becomes an event with its evidence, and the registry acts on that`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<3)
            scene.report(answers: 10)
            scene.report([Self.candidate(1)])
            _ = await scene.settled(taken: 1)
            let event = scene.ledger.events.last
            #expect(event?.kind == .deviceDeactivated && event?.app == Self.shop && event?.device == Self.id(1))
            #expect(event?.reason == "Unregistered" && event?.messageID?.text == "m-1")
            #expect(event?.deliveryID == DeliveryID(high: 7, low: 1))
            #expect(event?.evidence == Self.start + 100)
            // The hold is in force from the event on, before the registry has applied it.
            #expect(scene.registry.inactive.contains(Self.id(1)) && !scene.registry.inactive.contains(Self.id(2)))
            try await scene.applied()
            #expect(scene.registry.inactive.contains(Self.id(1)) && !scene.registry.inactive.contains(Self.id(2)))
        }
    }

    @Test func `Who has registered since is alive`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<2)
            scene.report([Self.candidate(0, at: Self.start - 1), Self.candidate(1, at: Self.start)])
            let status = await scene.settled(taken: 2)
            #expect(status.alive == 1 && status.deactivated == 1)
            #expect(scene.ledger.deactivated == [Self.id(1)])
        }
    }

    @Test func `A device that has replaced the refused address is alive`() async throws {
        try await Scene.run { scene in
            let (old, new) = (Self.replaceable("old"), Self.replaceable("new"))
            let id = Self.identities.device(of: Self.shop, token: new)
            #expect(Self.identities.device(of: Self.shop, token: old) == id)
            _ = try await scene.registry.register([DeviceRegistration(app: Self.shop, token: new)])
            scene.report([Self.candidate(of: id, refused: old)])
            let spared = await scene.settled(taken: 1)
            #expect(spared.alive == 1 && spared.deactivated == 0)
            scene.report([Self.candidate(of: id, refused: new)])
            let dead = await scene.settled(taken: 2)
            #expect(dead.alive == 1 && dead.deactivated == 1)
            #expect(scene.ledger.deactivated == [id])
        }
    }

    /// Returns an address that names its device by its first four bytes.
    private static func replaceable(_ rest: String) -> Address {
        Address(bytes: Array("app:\(rest)".utf8), identifiedByFirst: 4)!
    }

    private static func candidate(of device: DeviceID, refused: Address) -> Deactivation {
        var candidate = Deactivation(of: device, app: shop, reason: "gone", evidence: start + 100)
        candidate.refused = refused
        return candidate
    }

    @Test func `A token that nobody registered is told of too, once`() async throws {
        try await Scene.run { scene in
            scene.report([Self.candidate(1), Self.candidate(1, at: Self.start + 200), Self.candidate(1)])
            let status = await scene.settled(taken: 3)
            #expect(status.known == 2 && status.deactivated == 1)
            // The registry has not applied the event yet.
            scene.report([Self.candidate(1)])
            let again = await scene.settled(taken: 4)
            #expect(again.known == 3)
            try await scene.applied()
            scene.report([Self.candidate(1, at: Self.start + 500)])
            let gone = await scene.settled(taken: 5)
            #expect(gone.known == 4 && scene.ledger.deactivated == [Self.id(1)])
            #expect(scene.ledger.evidence == [Self.start + 200])
        }
    }

    /// This occurs after a clock was set back: the registry ignores the event, and another answer repeats it.
    @Test func `What the registry did not act on is told again after a minute`() async throws {
        try await Scene.run { scene in
            scene.report([Self.candidate(1)])
            _ = await scene.settled(taken: 1)
            // The registry releases the hold of an event that it ignores.
            await scene.registry.release([Self.id(1)])
            await scene.loop.advance(by: .seconds(59))
            scene.report([Self.candidate(1)])
            let soon = await scene.settled(taken: 2)
            #expect(soon.known == 1)
            await scene.loop.advance(by: .seconds(2))
            scene.report([Self.candidate(1)])
            let later = await scene.settled(taken: 3)
            #expect(later.deactivated == 2)
        }
    }

    @Test func `A device that came back and died again is told of again`() async throws {
        try await Scene.run { scene in
            scene.report([Self.candidate(1)])
            _ = await scene.settled(taken: 1)
            try await scene.applied()
            scene.clock.withLock { $0 += 1000 }
            try await scene.register(1..<2)
            scene.report([Self.candidate(1, at: Self.start + 100), Self.candidate(1, at: Self.start + 2000)])
            _ = await scene.settled(taken: 3)
            #expect(scene.ledger.deactivated == [Self.id(1), Self.id(1)])
            // The earlier evidence alone would have no effect.
            #expect(scene.ledger.evidence == [Self.start + 100, Self.start + 2000])
        }
    }

    @Test func `A flood of bad tokens of one app wipes nothing, and another app goes on`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<500)
            scene.report(answers: 500)
            scene.report(answers: 500, app: Self.news)
            scene.report((0..<400).map { Self.candidate($0, "BadDeviceToken") })
            scene.report([Self.candidate(1, app: Self.news)], app: Self.news)
            let status = await scene.settled(taken: 401)
            #expect(status.held == 400 && status.deactivated == 1 && status.stopped == [Self.shop])
            let alarm = scene.ledger.events.first { $0.kind == .deviceBrake }
            #expect(alarm?.app == Self.shop)
            #expect(
                alarm?.details == [
                    EventDraft.Detail("state", value: .text("on")),
                    EventDraft.Detail("candidates", value: .number(400)),
                    EventDraft.Detail("answers", value: .number(500)),
                    EventDraft.Detail("deactivated", value: .number(0)),
                ])
            scene.report((0..<400).map { Self.candidate($0, "BadDeviceToken") })
            _ = await scene.settled(taken: 801)
            #expect(scene.ledger.events.filter { $0.kind == .deviceBrake }.count == 1)
            try await scene.applied()
            #expect(!scene.registry.inactive.contains(Self.id(1)))
            // Good answers for more than ten minutes.
            for _ in 0..<70 {
                await scene.loop.advance(by: .seconds(10))
                scene.report(answers: 20)
            }
            _ = await scene.settled { $0.stopped.isEmpty }
            let release = scene.ledger.events.last { $0.kind == .deviceBrake }
            #expect(release?.details.first == EventDraft.Detail("state", value: .text("off")))
            scene.report([Self.candidate(1, "BadDeviceToken")])
            _ = await scene.settled(taken: 802)
            #expect(scene.ledger.deactivated.last == Self.id(1))
        }
    }

    @Test func `The ends of Live Activities pass the brake and do not count for it`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<600)
            func end(_ number: Int) -> Deactivation {
                .endOfActivity(at: Self.id(number), app: Self.shop, evidence: Self.start + 100)
            }
            // Half of the answers: no brake.
            scene.report(answers: 200, (0..<200).map { end($0) })
            var status = await scene.settled(taken: 200)
            #expect(status.deactivated == 200 && status.stopped.isEmpty)
            scene.report((200..<400).map { Self.candidate($0, "BadDeviceToken") } + [end(400)])
            status = await scene.settled(taken: 401)
            #expect(status.held == 200 && status.deactivated == 201 && status.stopped == [Self.shop])
            // An end that comes while the brake is on.
            scene.report([end(401), Self.candidate(402)])
            status = await scene.settled(taken: 403)
            #expect(status.held == 201 && status.deactivated == 202)
            let event = scene.ledger.events.last { $0.kind == .deviceDeactivated }
            #expect(event?.reason == "activity_ended" && event?.device == Self.id(401))
        }
    }

    @Test func `What bad tokens deactivated before the brake is counted`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<200)
            scene.report((0..<30).map { Self.candidate($0, "BadDeviceToken") } + [Self.candidate(150)])
            _ = await scene.settled(taken: 31)
            scene.report((30..<130).map { Self.candidate($0, "BadDeviceToken") })
            let status = await scene.settled(taken: 131)
            #expect(status.held == 100 && status.stopped == [Self.shop])
            // A token that the service knows to be dead has another cause.
            #expect(status.misdirected[Self.shop]?.count == 30)
            let since = try #require(status.misdirected[Self.shop]?.since)
            let alarm = scene.ledger.events.first { $0.kind == .deviceBrake }
            #expect(
                alarm?.details.suffix(2) == [
                    EventDraft.Detail("deactivated", value: .number(30)),
                    EventDraft.Detail("deactivated_since", value: .number(since.milliseconds)),
                ])
        }
    }

    @Test func `Only the last hour counts as the time before the brake`() {
        var devices = MisdirectedDevices()
        let start = WallTime(milliseconds: 1_700_000_000_000)
        for minute in 0..<90 { devices.add(2, at: start + .seconds(60 * minute)) }
        #expect(devices.count == 120 && devices.since == start + .seconds(60 * 30))
        // A clock that was set back.
        devices.add(1, at: start)
        #expect(devices.count == 1 && devices.since == start)
    }

    @Test func `What waits is bounded, and the oldest goes first`() async throws {
        var limits = Feedback.Limits()
        limits.waiting = 100
        limits.batch = 10
        try await Scene.run(limits: limits) { scene in
            scene.report(answers: 10_000)
            scene.report((0..<1000).map { Self.candidate($0) })
            let status = await scene.settled(taken: 1000)
            #expect(status.dropped == 900 && status.deactivated == 100)
            #expect(scene.ledger.deactivated == (900..<1000).map { Self.id($0) })
        }
    }

    @Test func `When the ledger refuses, candidates are lost and counted, and learned again`() async throws {
        try await Scene.run { scene in
            scene.ledger.refuse(true)
            scene.report([Self.candidate(1)])
            let status = await scene.settled(taken: 1)
            #expect(status.failed == 1)
            scene.ledger.refuse(false)
            scene.report([Self.candidate(1)])
            let again = await scene.settled(taken: 2)
            #expect(again.deactivated == 1)
        }
    }

    // MARK: The feedback service

    private static func tuples(_ numbers: Range<Int>, at time: UInt32) -> [FeedbackTuple] {
        numbers.map { FeedbackTuple(time: time, token: token($0)) }
    }

    @Test func `The service's list is on disk when it has been taken, and twice is once`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<10)
            let list = Self.tuples(0..<2000, at: 1_000_001)
            try await scene.feedback.take(list, of: Self.shop)
            #expect(scene.ledger.deactivated.count == 2000)
            #expect(scene.ledger.events.last?.reason == "feedback")
            // The list is repeated before the registry has applied the events, and afterwards.
            try await scene.feedback.take(list, of: Self.shop)
            try await scene.applied()
            try await scene.feedback.take(list, of: Self.shop)
            #expect(scene.ledger.deactivated.count == 2000)
            #expect(scene.registry.inactive.contains(Self.id(3)) && scene.registry.inactive.contains(Self.id(1999)))
        }
    }

    @Test func `After a crash between event and application the same list does nothing more`() async throws {
        try await Scene.run { scene in
            let list = Self.tuples(0..<100, at: 1_000_001)
            try await scene.feedback.take(list, of: Self.shop)
            // A new process has the log, and its registry catches up before anything else.
            try await scene.applied()
            let other = Feedback(
                on: scene.loop, registry: scene.registry, ledger: scene.ledger, identities: Self.identities,
                log: Logger("feedback", to: LogOutput(level: .error)))
            try await other.take(list, of: Self.shop)
            #expect(scene.ledger.deactivated.count == 100)
            await other.stop()
        }
    }

    @Test func `A list is not stopped by the brake, and spares who registered after it`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<2)
            scene.report((100..<300).map { Self.candidate($0, "BadDeviceToken") })
            _ = await scene.settled { $0.stopped == [Self.shop] }
            try await scene.feedback.take(
                [
                    FeedbackTuple(time: 999_999, token: Self.token(0)),
                    FeedbackTuple(time: 1_000_000, token: Self.token(1)),
                ],
                of: Self.shop)
            #expect(scene.ledger.deactivated == [Self.id(1)])
        }
    }

    @Test func `A moment in the future hides nothing of what comes after the next registration`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<1)
            // The clock of this provider is an hour ahead.
            scene.report([Self.candidate(0, at: Self.start + 3_600_000)])
            _ = await scene.settled(taken: 1)
            try await scene.applied()
            #expect(scene.registry.inactive.contains(Self.id(0)))
            scene.clock.withLock { $0 += 1000 }
            try await scene.register(0..<1)
            #expect(!scene.registry.inactive.contains(Self.id(0)))
            scene.clock.withLock { $0 += 5000 }
            scene.report([Self.candidate(0, at: Self.start + 5000)])
            _ = await scene.settled(taken: 2)
            try await scene.applied()
            #expect(scene.ledger.deactivated == [Self.id(0), Self.id(0)])
            #expect(scene.registry.inactive.contains(Self.id(0)))
        }
    }

    @Test func `Before the event is written the device is no longer sent to`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<3)
            let seen = EventRecorder<Bool>()
            // The registry has a reference to the ledger, so this one is weak.
            scene.ledger.onNote { [weak registry = scene.registry] events in
                guard let registry else { return }
                for event in events { seen.record(event.device.map { registry.inactive.contains($0) } ?? false) }
            }
            scene.report([Self.candidate(0)])
            _ = await scene.settled(taken: 1)
            #expect(seen.events == [true])
            #expect(scene.registry.inactive.contains(Self.id(0)))
            // The registry records manual deactivations itself, in the same order.
            _ = try await scene.registry.deactivate([Self.id(1)], reason: "manual")
            #expect(seen.events == [true, true])
            // If the event is not written, the hold is released.
            scene.ledger.refuse(true)
            scene.report([Self.candidate(2)])
            _ = await scene.settled(taken: 2)
            #expect(!scene.registry.inactive.contains(Self.id(2)))
            await #expect(throws: (any Error).self) {
                _ = try await scene.registry.deactivate([Self.id(2)], reason: "manual")
            }
            #expect(!scene.registry.inactive.contains(Self.id(2)))
        }
    }

    @Test func `A device that registers between the event and its application is sent to`() async throws {
        try await Scene.run { scene in
            try await scene.register(0..<1)
            scene.report([Self.candidate(0, at: Self.start + 100)])
            _ = await scene.settled(taken: 1)
            #expect(scene.registry.inactive.contains(Self.id(0)))
            scene.clock.withLock { $0 += 1000 }
            try await scene.register(0..<1)
            // A hold as if another event were about to be recorded.
            scene.registry.hold([Self.id(0)])
            try await scene.applied()
            #expect(!scene.registry.inactive.contains(Self.id(0)))
        }
    }

    @Test func `A list that the ledger refuses is to be offered again`() async throws {
        try await Scene.run { scene in
            scene.ledger.refuse(true)
            await #expect(throws: FeedbackError.self) {
                try await scene.feedback.take(Self.tuples(0..<5, at: 1_000_001), of: Self.shop)
            }
            scene.ledger.refuse(false)
            try await scene.feedback.take(Self.tuples(0..<5, at: 1_000_001), of: Self.shop)
            #expect(scene.ledger.deactivated.count == 5)
        }
    }
}

/// A ledger in memory that only records events. They are numbered by the real writer, and read as from the real log.
private final class NotingLedger: Ledger, EventLog {
    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) { reply([.unknown]) }
    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) {}

    private struct State: Sendable {
        var writer = LogWriter(next: 1)
        var segments: [LogSegment] = []
        var events: [EventDraft] = []
        var refuses = false
        var onNote: (@Sendable ([EventDraft]) -> Void)?
    }

    private let state = Locked(State())

    var events: [EventDraft] { state.withLock { $0.events } }
    var deactivated: [DeviceID] { events.filter { $0.kind == .deviceDeactivated }.compactMap(\.device) }
    var evidence: [WallTime] { events.filter { $0.kind == .deviceDeactivated }.compactMap(\.evidence) }

    func onNote(_ tell: @escaping @Sendable ([EventDraft]) -> Void) { state.withLock { $0.onNote = tell } }

    func refuse(_ refuses: Bool) { state.withLock { $0.refuses = refuses } }

    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {
        state.withLock { $0.onNote }?(events)
        let first: UInt64? = state.withLock { state in
            if state.refuses { return nil }
            let time: WallTime = 5_000_000_000
            state.writer.begin(time: time, reserving: 256)
            for event in events { state.writer.add(event, at: time) }
            let segment = state.writer.finish()
            state.segments.append(segment)
            state.events += events
            return segment.first
        }
        done?(first)
    }

    func read(since: UInt64, limit: Int) async throws -> LogPage {
        state.withLock { state in
            LogPage(
                segments: state.segments.filter { $0.last > since }, oldest: 1, newest: state.writer.next - 1)
        }
    }

    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] { [] }

    // Feedback does not use the following functions.
    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) { fatalError() }
    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) { fatalError() }
    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) { fatalError() }
    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {
        fatalError()
    }
    func due(at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void) {
        fatalError()
    }
}
