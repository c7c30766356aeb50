import PushLogic
import PushLoop
import PushModel
import PushPipeline
import TestSupport

/// The ledger of a router under test. It is on the router's loop, and fails as the test requires.
final class FakeLedger: Ledger {
    func cancel(_ requests: [CancelRequest], reply: @escaping @Sendable ([Cancellation]) -> Void) { reply([.unknown]) }
    func ended(_ cancels: [CancelEnd], releasing claims: [ClaimPage]) {}

    struct State {
        var messages: [UInt64: AcceptedMessage] = [:]
        /// Creates the loaded messages, for tests in which storing a million of them would distort the result.
        var make: (@Sendable (UInt64) -> AcceptedMessage)?
        var scheduled: [AcceptedMessage] = []
        var records: [DeliveryRecord] = []
        var keepsRecords = true
        var recordCount = 0
        var completed: [CompletedMessage] = []
        var completedCount = 0
        var verdict: @Sendable (ClaimPage, DeviceID) -> ClaimVerdict = { _, _ in .new }
        var failingClaims = 0
        var failingLoads = 0
        var claims = 0
        var loads = 0
        var dues = 0
    }

    let state = Locked(State())

    func accept(_ group: [PushRequest], reply: @escaping @Sendable ([Acceptance]) -> Void) { reply([]) }

    func record(_ deliveries: [DeliveryRecord], completed: [CompletedMessage]) {
        state.withLock {
            $0.recordCount += deliveries.count
            $0.completedCount += completed.count
            if $0.keepsRecords {
                $0.records += deliveries
                $0.completed += completed
            }
        }
    }

    func note(_ events: [EventDraft], done: (@Sendable (UInt64?) -> Void)?) {}

    func claim(_ pages: [ClaimPage], reply: @escaping @Sendable ([[ClaimVerdict]]) -> Void) {
        let verdicts: [[ClaimVerdict]] = state.withLock { state in
            state.claims += 1
            if state.failingClaims > 0 {
                state.failingClaims -= 1
                return []
            }
            let verdict = state.verdict
            return pages.map { page in page.devices.map { verdict(page, $0) } }
        }
        reply(verdicts)
    }

    func load(_ seqs: [UInt64], reply: @escaping @Sendable (Result<[AcceptedMessage], LedgerFault>) -> Void) {
        let result: Result<[AcceptedMessage], LedgerFault> = state.withLock { state in
            state.loads += 1
            if state.failingLoads > 0 {
                state.failingLoads -= 1
                return .failure(LedgerFault("disk not available"))
            }
            let (make, messages) = (state.make, state.messages)
            return .success(seqs.compactMap { make?($0) ?? messages[$0] })
        }
        reply(result)
    }

    func due(at time: UnixSeconds, limit: Int, reply: @escaping @Sendable (Result<DueMessages, LedgerFault>) -> Void) {
        let due = state.withLock { state in
            state.dues += 1
            let ready = state.scheduled.prefix { $0.message.notBefore! <= time }.prefix(limit)
            state.scheduled.removeFirst(ready.count)
            return DueMessages(messages: Array(ready), next: state.scheduled.first?.message.notBefore)
        }
        reply(.success(due))
    }
}

/// A registry in which every dynamic audience has the given number of devices.
final class FakeRegistry: DeviceRegistry {
    final class Gone: DeviceSet {
        let devices = Locked<Set<DeviceID>>([])
        var isEmpty: Bool { devices.withLock { $0.isEmpty } }
        func contains(_ device: DeviceID) -> Bool { devices.withLock { $0.contains(device) } }
    }

    /// The devices that were removed, in this order.
    final class Owners: OwnerChanges {
        let removed = Locked<[DeviceID]>([])
        var latest: UInt32 { UInt32(removed.withLock { $0.count }) }

        func obstacle(
            to device: DeviceID, foundAt number: UInt32, of message: AcceptedMessage
        ) -> DeliveryOutcome.Suppression? {
            removed.withLock { $0.dropFirst(Int(number)).contains(device) } ? .unknownDevice : nil
        }
    }

    struct Away: Error {}

    let gone = Gone()
    let owners = Owners()
    /// The users and tags whose devices are removed before a look-up of them is answered.
    let removedMeanwhile = Locked<[String]>([])
    let count = Locked(0)
    let failing = Locked(0)
    let pages = Locked(0)
    /// The numbers of look-ups that were asked together, and whether they are answered.
    let lookUps = Locked<[Int]>([])
    let answersTogether = Locked(false)
    /// The users and tags whose look-ups are answered only alone.
    let large = Locked<Set<String>>([])
    /// The numbers of the devices whose users get messages in a preferred app.
    let outranked = Locked<Set<Int>>([])
    /// The questions about them.
    let questions = Locked<[(count: Int, preferred: [PreferredApp])]>([])

    var inactive: any DeviceSet { gone }
    var ownerChanges: any OwnerChanges { owners }
    let ofOtherKinds: any DeviceSet = NoDevices()

    func page(
        of audience: Audience, app: AppID, kind: AddressKind, wording: Wording?, after: AudienceCursor?, limit: Int
    ) async throws -> AudiencePage {
        pages.withLock { $0 += 1 }
        let fails = failing.withLock { left in
            defer { left = max(0, left - 1) }
            return left > 0
        }
        if fails { throw Away() }
        let start = after.flatMap { Int($0.text) } ?? 0
        let end = min(count.withLock { $0 }, start + limit)
        let devices = (start..<max(start, end)).map { number in
            let token = RouterWorld.token(1_000_000 + number)
            return AudiencePage.Device(id: RouterWorld.identities.device(of: app, token: token), token: token)
        }
        return AudiencePage(devices: devices, next: end < count.withLock { $0 } ? AudienceCursor("\(end)") : nil)
    }

    func pages(of lookUps: [AudienceLookUp]) async throws -> [AudiencePage?] {
        self.lookUps.withLock { $0.append(lookUps.count) }
        guard answersTogether.withLock({ $0 }) else { throw Away() }
        let large = large.withLock { $0 }
        var pages: [AudiencePage?] = []
        for lookUp in lookUps {
            let name =
                switch lookUp.subject {
                case .user(let name), .tag(let name): name
                }
            let isLarge = large.contains(name)
            let device = Self.device(of: name, in: lookUp.app)
            pages.append(isLarge ? nil : AudiencePage(devices: [device], next: nil))
            if removedMeanwhile.withLock({ $0.contains(name) }) { owners.removed.withLock { $0.append(device.id) } }
        }
        return pages
    }

    /// The device of the user or the tag with this name.
    static func device(of name: String, in app: AppID) -> AudiencePage.Device {
        let token = RouterWorld.token(2_000_000 + (Int(name) ?? 0))
        return AudiencePage.Device(id: RouterWorld.identities.device(of: app, token: token), token: token)
    }

    func outranked(
        _ devices: [DeviceID], of audience: Audience, by preferred: [PreferredApp]
    ) async throws -> Set<DeviceID> {
        questions.withLock { $0.append((devices.count, preferred)) }
        let shop = AppID("shop")!
        let all = outranked.withLock { numbers in
            Set(
                numbers.map {
                    RouterWorld.identities.device(of: shop, token: RouterWorld.token(1_000_000 + $0))
                })
        }
        return all.intersection(devices)
    }

    func sightings(of devices: [DeviceID]) async throws -> [Sighting?] { devices.map { _ in nil } }
}

/// Keeps deliveries in order until the test reports their results.
final class FakeGate: DeliveryGate {
    func recall(_ number: UInt64) {}

    struct State {
        var waiting: [Delivery] = []
        var taken: UInt64 = 0
        var order: [MessageID] = []
    }

    let app: AppID
    let state = Locked(State())

    init(_ app: AppID) {
        self.app = app
    }

    func submit(_ batch: [Delivery]) {
        state.withLock {
            $0.waiting += batch
            $0.taken += UInt64(batch.count)
            $0.order += batch.map(\.message.id)
        }
    }

    var waiting: [Delivery] { state.withLock { $0.waiting } }

    /// Reports the given outcome for the first deliveries, and new credit.
    func report(_ count: Int = .max, _ outcome: DeliveryOutcome? = .sent(providerID: nil), credit: Int)
        -> GatewayReport
    {
        state.withLock { state in
            let ended = state.waiting.prefix(count)
            let reports = ended.map { DeliveryReport(of: $0, outcome, latency: .milliseconds(3)) }
            state.waiting.removeFirst(ended.count)
            return GatewayReport(app: app, deliveries: reports, credit: credit, taken: state.taken)
        }
    }
}

final class RouterWorld: Sendable {
    static let identities = Identities(secret: (0..<32).map { UInt8($0) })!
    static let begin: Int64 = 1_800_000_000
    static func token(_ number: Int) -> Address { Address(words: (UInt64(number), 5, 6, 7)) }

    let loop = EventLoop(name: "router", clock: .manual())
    let ledger = FakeLedger()
    let registry = FakeRegistry()
    let shop = AppID("shop")!
    let gate: FakeGate
    let router: Router
    let answers = EventRecorder<[ProviderAnswers]>()
    private let wall: Locked<Int64>

    init(_ limits: PipelineLimits = PipelineLimits(), _ change: (inout RouterPolicy) -> Void = { _ in }) {
        let wall = Locked(Self.begin * 1000)
        self.wall = wall
        gate = FakeGate(shop)
        var settings = Router.Settings(limits)
        change(&settings.policy)
        settings.wallClock = { WallTime(milliseconds: wall.withLock { $0 }) }
        settings.answered = { [answers] in answers.record($0) }
        router = Router(
            on: loop, ledger: ledger, registry: registry, identities: Self.identities, settings: settings)
    }

    func open(credit: Int) async {
        router.appChanged(shop, gate: gate)
        router.report(gate.report(credit: credit))
        await settle()
    }

    /// Waits until nothing happens any more. Answers arrive in ticks after the questions.
    func settle() async {
        var isQuiet = false
        while !isQuiet {
            isQuiet = await router.pagesAwaited == 0
            for _ in 0..<30 { await loop.run {} }
            // An answer at the end of a round may need another round.
            if await router.pagesAwaited > 0 { isQuiet = false }
        }
    }

    func pass(_ seconds: Int) async {
        wall.withLock { $0 += Int64(seconds) * 1000 }
        await loop.advance(by: .seconds(seconds))
        await settle()
    }

    /// Reports all deliveries, and those that follow, until no delivery is left.
    func finish(credit: Int = 2000) async {
        await settle()
        repeat {
            router.report(gate.report(credit: credit))
            await settle()
        } while !gate.waiting.isEmpty
    }

    func message(
        _ seq: UInt64, app: AppID? = nil, to audience: Audience, priority: PushPriority = .ten,
        expiresAt: Int64? = nil, notBefore: Int64? = nil, counts: OutcomeCounts = OutcomeCounts(),
        preferred: [PreferredApp] = []
    ) -> AcceptedMessage {
        let message = Message(
            id: MessageID("m\(seq)")!, app: app ?? shop, priority: priority, expiry: Expiry(expiresAt: expiresAt),
            payload: [1], preferred: preferred,
            notBefore: notBefore.map { UnixSeconds($0) })
        return AcceptedMessage(
            seq: seq, acceptedAt: WallTime(milliseconds: Self.begin * 1000), fingerprint: MessageFingerprint(seq),
            message: message,
            audience: audience, needsClaim: audience.named != 1,
            isScheduled: notBefore.map { $0 > Self.begin } ?? false, counts: counts)
    }

    func single(_ seq: UInt64, priority: PushPriority = .ten) -> AcceptedMessage {
        message(seq, to: .tokens([Self.token(Int(seq))]), priority: priority)
    }
}
