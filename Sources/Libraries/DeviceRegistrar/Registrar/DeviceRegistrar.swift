public import Foundation
public import RequestQueue

/// The registration of an app's device with Carillon.
///
/// Hand in the token at each launch. The registrar signs and sends it, tries again when the network or the server fails,
/// and remembers what the server knows, so that nothing is sent unless something has changed or a day has passed.
///
/// ```swift
/// let registrar = try DeviceRegistrar(configuration)
/// await registrar.register(token, profile: DeviceProfile(user: "ada", platform: "ios"))
/// await registrar.displayed("8be8baca-4367-5f55-9acc-b3ec5a25533e")
/// ```
public actor DeviceRegistrar {
    private let configuration: RegistrarConfiguration
    private let queue: RequestQueue
    private let signer: RequestSigner
    private let clock: @Sendable () -> Int64
    private let began = ContinuousClock.now
    private var machine: RegistrarMachine
    private var timer: Task<Void, Never>?
    private var settling: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var nextSettling: UInt64 = 0
    private var watchers: [UInt64: AsyncStream<RegistrarStatus>.Continuation] = [:]
    private var nextWatcher: UInt64 = 0

    /// Creates a registrar, and reads what an earlier run of the app has left. A damaged file is as good as none.
    public init(_ configuration: RegistrarConfiguration, queue: RequestQueue = .shared) throws(RequestError) {
        try self.init(configuration, queue: queue) { Int64(Date().timeIntervalSince1970 * 1000) }
    }

    init(
        _ configuration: RegistrarConfiguration, queue: RequestQueue, clock: @escaping @Sendable () -> Int64
    ) throws(RequestError) {
        guard let url = configuration.url("devices") else {
            throw RequestError(
                .invalidRequest,
                message:
                    "cannot use the server of the registrar: its URL must have the scheme http or https and a host, "
                    + "and neither user nor password; the app must have a name without a slash")
        }
        self.configuration = configuration
        self.queue = queue
        self.clock = clock
        signer = RequestSigner(keyID: configuration.keyID, secret: configuration.secret)
        let fresh = RegistrarMemory(scope: url.absoluteString)
        var memory = fresh
        if let data = try? Data(contentsOf: configuration.file), data.count <= 1 << 20,
            let read = try? JSONDecoder().decode(RegistrarMemory.self, from: data), read.version == fresh.version,
            read.scope == fresh.scope
        {
            memory = read
        }
        machine = RegistrarMachine(
            memory, seed: .random(in: 0 ... .max), sharesProfile: configuration.installation != nil)
    }

    deinit { timer?.cancel() }

    /// Registers the device, if the server does not know this token with this profile already. A token that differs from
    /// the one of before replaces it.
    public func register(_ token: PushToken, profile: DeviceProfile = DeviceProfile()) {
        perform(machine.wanted(token, profile: profile, now: now, wall: clock()))
    }

    /// Registers the token of another purpose than the alerts of the app, with the profile of the device. A token that
    /// differs from the one of before replaces it.
    ///
    /// Give ``RegistrarConfiguration/installation``, so that a change of the profile, which any of the tokens states,
    /// applies to all. A token that the server refuses is not tried again.
    ///
    /// - Returns: Whether there was room for it: at most 63 tokens are kept.
    @discardableResult
    public func register(_ token: PushToken, for purpose: TokenPurpose) -> Bool {
        guard let actions = machine.wanted(token, for: purpose, now: now, wall: clock()) else { return false }
        perform(actions)
        return true
    }

    /// Removes the token of a purpose from the server, for example because a Live Activity has ended.
    public func remove(_ purpose: TokenPurpose) {
        perform(machine.removalWanted(of: purpose, now: now, wall: clock()))
    }

    /// Removes the device from the server, with the tokens of all purposes, for example when the user signs out. If the server cannot be reached, the
    /// removal follows later, even after a restart of the app.
    public func remove() {
        perform(machine.removalWanted(now: now, wall: clock()))
    }

    /// Reports that a notification was displayed.
    public func displayed(_ notification: String, at time: Date = Date()) {
        report(notification, kind: .displayed, at: time)
    }

    /// Reports that a notification was opened.
    public func opened(_ notification: String, at time: Date = Date()) {
        report(notification, kind: .opened, at: time)
    }

    /// Tries at once what waits for its next attempt, for example when the network has returned or the app becomes
    /// active.
    public func retry() {
        perform(machine.retryWanted(now: now, wall: clock()))
    }

    /// The present state.
    public var status: RegistrarStatus { machine.status }

    /// The reports that wait to be sent.
    public var waitingReports: Int { machine.memory.seen.count }

    /// The reports that were dropped: more than 1,000 waited, or the server did not understand them.
    public var droppedReports: Int { machine.droppedReports }

    /// The changes of the state, beginning with the present one. A slow reader gets the newest.
    public func statuses() -> AsyncStream<RegistrarStatus> {
        let (stream, continuation) = AsyncStream<RegistrarStatus>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = nextWatcher
        nextWatcher += 1
        continuation.yield(machine.status)
        continuation.onTermination = { [weak self] _ in Task { await self?.unwatch(number) } }
        watchers[number] = continuation
        return stream
    }

    /// Waits until the server has everything, or until the registrar waits for a next attempt. An app in the background
    /// calls it before its time ends.
    public func settle() async {
        let number = nextSettling
        nextSettling += 1
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if machine.current == nil || Task.isCancelled {
                    continuation.resume()
                } else {
                    settling[number] = continuation
                }
            }
        } onCancel: {
            Task { await self.unsettle(number) }
        }
    }

    private func unsettle(_ number: UInt64) { settling.removeValue(forKey: number)?.resume() }

    private func unwatch(_ number: UInt64) { watchers[number] = nil }

    private var now: Duration { began.duration(to: .now) }

    private func report(_ notification: String, kind: SeenReport.Kind, at time: Date) {
        // An id that no push service makes would be refused with all the others of its request.
        guard (1...255).contains(notification.utf8.count), notification.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else {
            return
        }
        let seconds = time.timeIntervalSince1970
        guard seconds >= 0, seconds < 1e11 else { return }
        let report = SeenReport(notification: notification, kind: kind, at: Int64(seconds * 1000))
        perform(machine.seen(report, now: now, wall: clock()))
    }

    private func perform(_ actions: [RegistrarMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let operation, let offset): send(operation, offset: offset)
            case .save(let memory): save(memory)
            case .show(let status): for watcher in watchers.values { watcher.yield(status) }
            }
        }
        if machine.current == nil {
            let waiting = settling.values
            settling = [:]
            for continuation in waiting { continuation.resume() }
        }
        schedule()
    }

    /// Writes the file. A full disk costs a repeated registration, and reports after a restart.
    private func save(_ memory: RegistrarMemory) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(memory) else { return }
        try? AtomicFile.write(data, to: configuration.file, isSynced: true)
    }

    private func send(_ operation: RegistrarMachine.Operation, offset: Int64) {
        Task { [weak self, queue] in
            guard let request = await self?.request(for: operation, offset: offset) else {
                await self?.ended(nil)
                return
            }
            await self?.ended(try? await queue.send(request))
        }
    }

    /// Returns a signed request. Each attempt is signed anew, because a nonce serves once.
    private func request(for operation: RegistrarMachine.Operation, offset: Int64) -> Request? {
        let message = try? RegistrarMessages.encode(operation, installation: configuration.installation)
        guard let (route, body) = message, let url = configuration.url(route) else {
            return nil
        }
        var request = Request.post(url, body: .data(body, contentType: "application/json"))
        request.retry = .never
        request.redirect = .never
        request.timeouts = Timeouts(idle: .seconds(30), total: .seconds(60))
        request.maxResponseBytes = 65_536
        let time = clock().addingReportingOverflow(offset).partialValue / 1000
        signer.sign(&request, body: body, created: time, nonce: RequestSigner.makeNonce())
        return request
    }

    private func ended(_ response: Response?) {
        guard let response else { return perform(machine.lost(now: now)) }
        let answer = RegistrarMessages.answer(response, now: clock() / 1000)
        perform(machine.answered(answer, now: now, wall: clock()))
    }

    private func schedule() {
        timer?.cancel()
        timer = nil
        guard let next = machine.nextTime else { return }
        let moment = began.advanced(by: next)
        timer = Task { [weak self] in
            try? await Task.sleep(until: moment, clock: .continuous)
            if !Task.isCancelled { await self?.rang() }
        }
    }

    private func rang() {
        timer = nil
        perform(machine.elapsed(now: now, wall: clock()))
    }
}
