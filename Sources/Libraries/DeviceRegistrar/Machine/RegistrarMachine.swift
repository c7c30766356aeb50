import RequestQueue

/// The decisions of a registrar: what is sent next, when it is sent again, and what is remembered.
///
/// One request is under way at a time. Removals go first, then the registration, then those of other addresses, then
/// reports. Times are durations since any fixed moment; `wall` is in milliseconds since 1970.
struct RegistrarMachine: Sendable {
    /// A request.
    enum Operation: Sendable, Equatable {
        case remove(PushToken)
        case register(PushToken, DeviceProfile, replaces: PushToken?)
        case registerAddress(TokenPurpose, PushToken, DeviceProfile, replaces: PushToken?)
        case report([SeenReport])
    }

    /// The commands to the registrar.
    enum Action: Sendable, Equatable {
        /// Sign with a clock that is ahead of the device's by `offset` milliseconds, and send.
        case send(Operation, offset: Int64)
        case save(RegistrarMemory)
        case show(RegistrarStatus)
    }

    /// The answer to a request.
    struct Answer: Sendable, Equatable {
        var status: Int
        var code = ""
        var detail = ""
        var device: String?
        /// The time of the server, in milliseconds since 1970, if the code is `clock_skew`.
        var serverTime: Int64?
        var retryAfter: Duration?
    }

    static let maxSeen = 1000
    static let maxReports = 100
    /// The tokens of all addresses of an installation fit.
    static let maxRemovals = 208
    static let maxAttempted = 16
    /// A registration is repeated after a day, so that the server sees that the device still exists.
    static let refreshInterval: Int64 = 86_400_000
    static let firstPause = Duration.seconds(1)
    static let maxPause = Duration.seconds(900)
    /// The pause after a refusal, which only a change on the server or in the app ends.
    static let refusalPause = Duration.seconds(3600)
    static let maxRetryAfter = Duration.seconds(86_400)

    private(set) var memory: RegistrarMemory
    private var token: PushToken?
    private var profile = DeviceProfile()
    private(set) var current: Operation?
    /// Whether the registration under way is the first of its token: refused, it leaves nothing on the server.
    private var isFirst = false
    private var failures = 0
    /// The time before which nothing is sent.
    private var pausedUntil: Duration?
    private var problem: RegistrarProblem?
    private var offset: Int64 = 0
    private var hasCorrectedClock = false
    private var lastShown: RegistrarStatus?
    private var jitter: Jitter
    /// Whether all addresses belong to one installation, so that the registration of one states the profile of all.
    private let sharesProfile: Bool
    /// The reports that were dropped because the queue was full, or because the server did not understand them.
    private(set) var droppedReports = 0

    init(_ memory: RegistrarMemory, seed: UInt64, sharesProfile: Bool = false) {
        self.memory = memory
        self.sharesProfile = sharesProfile
        jitter = Jitter(seed: seed)
    }

    var status: RegistrarStatus {
        if let problem { return .refused(problem) }
        if let token, let registered = memory.registered, registered.token == token, registered.profile == profile,
            !memory.removals.contains(token)
        {
            return .registered(device: registered.device)
        }
        return token == nil && memory.removals.isEmpty ? .unregistered : .pending
    }

    /// Whether the server has everything that it should have.
    func isSettled(wall: Int64) -> Bool { current == nil && next(wall: wall) == nil }

    /// Takes the token that the system gave to the app, and the profile.
    mutating func wanted(_ token: PushToken, profile: DeviceProfile, now: Duration, wall: Int64) -> [Action] {
        let profile = profile.normalized
        let isChange = self.token != token || self.profile != profile
        self.token = token
        self.profile = profile
        if isChange { resume() }
        return proceed(now: now, wall: wall)
    }

    /// Takes the wish that the server forgets the device.
    mutating func removalWanted(now: Duration, wall: Int64) -> [Action] {
        let others = (memory.addresses ?? []).flatMap(\.tokens)
        let tokens = memory.attempted + [memory.registered?.token, token].compactMap { $0 } + others
        token = nil
        // What comes before the next profile belongs to nobody.
        profile = DeviceProfile()
        memory.registered = nil
        memory.attempted = []
        memory.addresses = nil
        removeLater(tokens)
        resume()
        return [.save(memory)] + proceed(now: now, wall: wall)
    }

    /// Takes a report. The same one counts once.
    mutating func seen(_ report: SeenReport, now: Duration, wall: Int64) -> [Action] {
        guard !memory.seen.contains(where: { $0.notification == report.notification && $0.kind == report.kind }) else {
            return []
        }
        memory.seen.append(report)
        let excess = max(0, memory.seen.count - Self.maxSeen)
        memory.seen.removeFirst(excess)
        droppedReports += excess
        return [.save(memory)] + proceed(now: now, wall: wall)
    }

    /// Ends a pause, for example because the network has returned.
    mutating func retryWanted(now: Duration, wall: Int64) -> [Action] {
        resume()
        return proceed(now: now, wall: wall)
    }

    /// Takes the passing of time.
    mutating func elapsed(now: Duration, wall: Int64) -> [Action] {
        if let pausedUntil, pausedUntil <= now { self.pausedUntil = nil }
        return proceed(now: now, wall: wall)
    }

    /// The time at which ``elapsed(now:wall:)`` has something to do; nil if there is none.
    var nextTime: Duration? { current == nil ? pausedUntil : nil }

    /// Takes the answer to the request that is under way.
    mutating func answered(_ answer: Answer, now: Duration, wall: Int64) -> [Action] {
        guard let operation = current else { return [] }
        current = nil
        switch answer.status {
        case 200...299: return succeeded(operation, answer: answer, now: now, wall: wall)
        case 401 where answer.code == "clock_skew" && !hasCorrectedClock && answer.serverTime != nil:
            // The clock of the device is wrong. Signatures follow the server's from now on.
            hasCorrectedClock = true
            offset = (answer.serverTime ?? wall).subtractingReportingOverflow(wall).partialValue
            return proceed(now: now, wall: wall)
        case 401 where answer.code == "replayed", 408, 425, 429, 500...599:
            return failed(now: now, atLeast: answer.retryAfter ?? .zero)
        case 400, 413, 415, 422:
            guard dropped(operation) else { return [.save(memory)] + refused(answer, now: now) }
            return [.save(memory)] + proceed(now: now, wall: wall)
        default: return refused(answer, now: now)
        }
    }

    /// Takes the failure of the request that is under way: there is no answer.
    mutating func lost(now: Duration) -> [Action] {
        guard current != nil else { return [] }
        current = nil
        return failed(now: now, atLeast: .zero)
    }

    private mutating func succeeded(_ operation: Operation, answer: Answer, now: Duration, wall: Int64) -> [Action] {
        failures = 0
        problem = nil
        hasCorrectedClock = false
        switch operation {
        case .remove(let token): removed(token)
        case .register(let token, let profile, let replaced):
            // A removal that was wanted meanwhile is remembered, and follows.
            if self.token != nil {
                memory.registered = .init(token: token, profile: profile, device: answer.device ?? "", at: wall)
                // The app has one token. The others are not replaced by it, and would receive its messages, too.
                let others = memory.attempted.filter { $0 != token && $0 != replaced }
                memory.attempted = []
                removeLater(others)
            }
        case .registerAddress(let purpose, let token, let profile, _):
            registered(purpose, with: token, profile: profile, wall: wall)
        case .report(let reports): memory.seen.removeAll { reports.contains($0) }
        }
        return [.save(memory)] + proceed(now: now, wall: wall)
    }

    /// Gives up a request that the server does not understand, because it would block those behind it.
    ///
    /// - Returns: Whether it was given up. A removal, and the registration of the token of the app, are not.
    private mutating func dropped(_ operation: Operation) -> Bool {
        switch operation {
        case .register(let token, _, let replaced):
            if isFirst { memory.attempted.removeAll { $0 == token } }
            guard token != self.token else { return false }
            guard token == former, let replaced else { return true }
            // It cannot take back what the lost one has.
            memory.attempted.removeAll { $0 == replaced }
            removeLater([replaced])
        case .remove: return false
        case .registerAddress(let purpose, let token, _, _): refused(purpose, with: token)
        case .report(let reports):
            memory.seen.removeAll { reports.contains($0) }
            droppedReports += reports.count
        }
        return true
    }

    private mutating func failed(now: Duration, atLeast least: Duration) -> [Action] {
        failures = min(failures + 1, 64)
        let pause = Backoff.pause(after: failures, first: Self.firstPause, max: Self.maxPause, jitter: &jitter)
        pausedUntil = now + max(pause, min(least, Self.maxRetryAfter))
        return show()
    }

    private mutating func refused(_ answer: Answer, now: Duration) -> [Action] {
        problem = RegistrarProblem(status: answer.status, code: answer.code, detail: answer.detail)
        hasCorrectedClock = false
        pausedUntil = now + max(Self.refusalPause, min(answer.retryAfter ?? .zero, Self.maxRetryAfter))
        return show()
    }

    private mutating func resume() {
        pausedUntil = nil
        problem = nil
        failures = 0
    }

    /// Starts the next request, if none is under way and there is no pause.
    mutating func proceed(now: Duration, wall: Int64) -> [Action] {
        var actions: [Action] = []
        if current == nil, pausedUntil.map({ $0 <= now }) ?? true, let operation = next(wall: wall) {
            current = operation
            if case .register(let token, _, _) = operation {
                isFirst = !memory.attempted.contains(token)
                attempt(token)
                if isFirst { actions.append(.save(memory)) }
            }
            if case .registerAddress(let purpose, let token, _, _) = operation {
                attempted(purpose, with: token)
                actions.append(.save(memory))
            }
            actions.append(.send(operation, offset: offset))
        }
        return actions + show()
    }

    private func next(wall: Int64) -> Operation? {
        if let token = memory.removals.first { return .remove(token) }
        if let token, needsRegistration(token, wall: wall) { return registration(of: token) }
        // Without a token of the app itself, the others state the profile.
        let address = nextAddress(profile, comparing: !sharesProfile || token == nil, wall: wall)
        if let address { return address }
        return memory.seen.isEmpty ? nil : .report(Array(memory.seen.prefix(Self.maxReports)))
    }

    /// The token that the server has, or may have had first.
    private var former: PushToken? { memory.registered?.token ?? memory.attempted.first }

    /// The registration that brings the server nearer to a token.
    ///
    /// If the answer to a registration was lost, either the former token or the lost one has the user and the tags on
    /// the server. Before a third token can replace the former one, the former one takes them back.
    private func registration(of token: PushToken) -> Operation {
        guard let lost = memory.attempted.last(where: { $0 != token && $0 != former }) else {
            return .register(token, profile, replaces: former == token ? nil : former)
        }
        return .register(former ?? token, profile, replaces: lost)
    }

    private mutating func attempt(_ token: PushToken) {
        guard !memory.attempted.contains(token) else { return }
        memory.attempted.append(token)
        memory.attempted.removeFirst(max(0, memory.attempted.count - Self.maxAttempted))
    }

    mutating func keep(_ addresses: [RegistrarMemory.OtherAddress]) {
        memory.addresses = addresses.isEmpty ? nil : addresses
    }

    /// Notes that the server does not have a token any more. The app may have handed it in again meanwhile.
    private mutating func removed(_ token: PushToken) {
        memory.removals.removeAll { $0 == token }
        memory.attempted.removeAll { $0 == token }
        if memory.registered?.token == token { memory.registered = nil }
        forgetAddress(token)
    }

    /// Has the server forget tokens, before anything else is sent. A token that the app hands in again is registered
    /// after that, so that nothing of the former registration stays.
    mutating func removeLater(_ tokens: [PushToken]) {
        for token in tokens where !memory.removals.contains(token) { memory.removals.append(token) }
        memory.removals.removeFirst(max(0, memory.removals.count - Self.maxRemovals))
    }

    private func needsRegistration(_ token: PushToken, wall: Int64) -> Bool {
        // Another token may have replaced this one, although the answer was lost.
        guard let registered = memory.registered, registered.token == token, registered.profile == profile,
            memory.attempted.allSatisfy({ $0 == token })
        else { return true }
        return Self.isOld(registered.at, wall: wall)
    }

    /// Whether a registration is to be repeated.
    static func isOld(_ time: Int64, wall: Int64) -> Bool {
        let age = wall.subtractingReportingOverflow(time)
        // A clock that was set back makes the age negative.
        return age.overflow || age.partialValue < 0 || age.partialValue >= refreshInterval
    }

    private mutating func show() -> [Action] {
        guard status != lastShown else { return [] }
        lastShown = status
        return [.show(status)]
    }
}
