package import PushLoop

/// One connection to a server, in pipeline mode. Confined to its loop.
///
/// The owner sends sections, and several may be in flight. Each has exactly one reply, which is never called from
/// within ``send(_:timeout:reply:)``. Nothing is sent twice, and a connection that is lost is not opened again.
package final class PostgreSQLConnection {
    /// How much may be in flight. Further sections are refused at once.
    package struct Limits: Sendable {
        package var maxSections = 16
        package var maxBytes = 256 << 20

        package init(maxSections: Int = 16, maxBytes: Int = 256 << 20) {
            self.maxSections = maxSections
            self.maxBytes = maxBytes
        }
    }

    package typealias Reply = (PostgreSQLReply) -> Void

    private enum State {
        case new
        case connecting(ConnectionAttempt)
        case ready
        /// A section was sent in part. The connection ends in this tick, and takes nothing more: the next section would
        /// commit the part.
        case broken
        case closed
    }

    package let loop: EventLoop
    package let target: PostgreSQLTarget
    /// Called once when the connection can be used.
    package var onReady: (() -> Void)?
    /// Called once when the connection cannot be opened or is lost, after the replies of all sections in flight. It is
    /// not called after ``close()``.
    package var onClosed: ((String) -> Void)?
    /// Called for notices and warnings of the server.
    package var onNotice: ((PostgreSQLNotice) -> Void)?

    private let options: PostgreSQLOptions
    private let limits: Limits
    private var state = State.new
    private var handle: ConnectionHandle?
    private var watch: Watch?
    private var timer = DeadlineTimer()
    private var machine = PipelineMachine<PostgreSQLResult>()
    /// The replies of the sections in flight, in order. Their number is bounded by `limits`.
    private var replies: [Reply] = []
    private var prepared: Set<Int> = []
    private var farewell: String?

    package init(
        on loop: EventLoop, to target: PostgreSQLTarget, options: PostgreSQLOptions, limits: Limits = Limits()
    ) {
        loop.assertOnLoop()
        self.loop = loop
        self.target = target
        self.options = options
        self.limits = limits
    }

    deinit {
        precondition(handle == nil, "a connection to PostgreSQL must be closed before it is released")
    }

    package var isReady: Bool {
        if case .ready = state { return true }
        return false
    }

    package var isClosed: Bool {
        if case .closed = state { return true }
        return false
    }

    package var sectionsInFlight: Int { machine.sectionCount }
    package var isEncrypted: Bool { handle?.isEncrypted ?? false }
    /// The process that serves this connection at the server, as in `pg_stat_activity`; 0 before the connection is
    /// ready.
    package var processID: Int32 { handle?.processID ?? 0 }

    /// Whether one more section of this size would be sent.
    package func hasRoom(forBytes count: Int) -> Bool {
        isReady && machine.sectionCount < limits.maxSections && count <= limits.maxBytes - machine.byteCount
    }

    // MARK: Opening and closing

    /// Starts connecting. ``onReady`` or ``onClosed`` follows, and not from within this call.
    package func open() {
        loop.assertOnLoop()
        guard case .new = state else { return }
        state = .connecting(
            ConnectionAttempt(on: loop, to: target, options: options) { [weak self] result in
                switch result {
                case .success(let handle): self?.opened(handle)
                case .failure(let error): self?.end(error.message)
                }
            })
    }

    private func opened(_ handle: ConnectionHandle) {
        self.handle = handle
        state = .ready
        let watch = Watch(handle.descriptor, on: loop) { [unowned self] ready in
            ready.contains(.writable) ? flush() : receive()
        }
        self.watch = watch
        watch.interest = .readable
        takeNotices(of: handle)
        onReady?()
    }

    /// Closes the connection. Sections in flight get their reply from within this call. May be called twice.
    package func close() {
        loop.assertOnLoop()
        onClosed = nil
        end("the connection was closed")
    }

    private func timerFired() {
        guard isReady, let deadline = machine.deadline else { return }
        if deadline > loop.now {
            arm(at: deadline)
        } else {
            end("\(target): timed out: the server did not answer a statement in time")
        }
    }

    private func arm(at deadline: MonotonicTime) {
        timer.arm(at: deadline, on: loop, action: { [weak self] in self?.timerFired() })
    }

    private func end(_ reason: String) {
        if isClosed { return }
        if case .connecting(let attempt) = state { attempt.cancel() }
        state = .closed
        // The watch must end before libpq closes the socket.
        watch?.cancel()
        watch = nil
        timer.disarm(on: loop)
        handle = nil
        let outcomes = machine.lost(reason)
        var waiting = exchange(&replies, with: [])[...]
        for (kind, outcome) in outcomes where kind == .section { waiting.popFirst()?(PostgreSQLReply(outcome)) }
        onReady = nil
        onNotice = nil
        onClosed.take()?(reason)
    }

    // MARK: Sending

    /// Sends a section. It may be cleared and used again as soon as this function returns.
    ///
    /// - Parameter timeout: The time until its reply. When it is up, the connection is closed, because libpq cannot
    ///   cancel a statement without blocking, and because the server may wait for its standby without end.
    package func send(_ section: PostgreSQLSection, timeout: Duration, reply: @escaping Reply) {
        loop.assertOnLoop()
        if let reason = refusal(of: section) {
            answer(.notSent(reason), to: reply)
            return
        }
        guard let handle else { return }
        let deadline = loop.now + timeout
        let statements = section.statements.filter(\.isPrepared)
        for statement in statements where prepared.insert(statement.id).inserted {
            guard handle.prepare(statement), handle.sync() else {
                fail(handle, reply: reply, outcome: PostgreSQLReply.notSent)
                return
            }
            machine.sent(
                .preparation(statement.id), calls: 1, statements: [statement.id], byteCount: 0, deadline: deadline)
        }
        guard unsafe section.forEachCall({ unsafe handle.send($0) }) else {
            // Without its end, the server does not commit it.
            fail(handle, reply: reply, outcome: PostgreSQLReply.notSent)
            return
        }
        guard handle.sync() else {
            fail(handle, reply: reply, outcome: PostgreSQLReply.unknown)
            return
        }
        machine.sent(
            .section, calls: section.callCount, statements: statements.map(\.id), byteCount: section.byteCount,
            deadline: deadline)
        replies.append(reply)
        if let armed = timer.deadline(on: loop), armed <= deadline {} else { arm(at: deadline) }
        flush()
    }

    private func refusal(of section: PostgreSQLSection) -> String? {
        guard isReady else { return "the connection to \(target) is not open" }
        if let fault = section.fault { return fault }
        guard machine.sectionCount < limits.maxSections else {
            return "\(limits.maxSections) sections are in flight, which is the limit"
        }
        guard section.byteCount <= limits.maxBytes - machine.byteCount else {
            return "the section of \(section.byteCount) bytes exceeds the limit of \(limits.maxBytes) bytes in flight"
        }
        return nil
    }

    private func answer(_ outcome: PostgreSQLReply, to reply: @escaping Reply) {
        loop.schedule(after: .zero) { reply(outcome) }
    }

    private func fail(
        _ handle: ConnectionHandle, reply: @escaping Reply, outcome: (String) -> PostgreSQLReply
    ) {
        let reason = "\(target): \(handle.message)"
        state = .broken
        answer(outcome(reason), to: reply)
        loop.schedule(after: .zero) { [weak self] in self?.end(reason) }
    }

    private func flush() {
        guard let handle, let watch else { return }
        switch handle.flush() {
        case .flushed: watch.interest = .readable
        case .wouldBlock: watch.interest = [.readable, .writable]
        // The next read reports the loss, after what has arrived.
        case .lost: loop.schedule(after: .zero) { [weak self] in self?.receive() }
        }
    }

    // MARK: Receiving

    private func receive() {
        guard isReady, let handle else { return }
        repeat {
            let isOpen = handle.consume()
            // The answers that arrived before the loss count.
            drain(handle)
            guard isReady else { return }
            guard isOpen else {
                end(loss(of: handle))
                return
            }
        } while handle.hasPendingInput
    }

    private func loss(of handle: ConnectionHandle) -> String {
        "connection to \(target) lost: \(farewell ?? handle.message)"
    }

    private func drain(_ handle: ConnectionHandle) {
        var pauses = 0
        while isReady, machine.isWaiting, !handle.isBusy {
            takeNotices(of: handle)
            guard let result = handle.nextResult() else {
                // libpq pauses once between two statements. If it waits for nothing, no answer would ever come.
                pauses += 1
                guard pauses < 3 else {
                    end("connection to \(target) lost: the server did not answer all statements")
                    return
                }
                continue
            }
            pauses = 0
            takeNotices(of: handle)
            do throws(PostgreSQLError) {
                perform(machine.received(try PipelineMachine.Answer(result)))
            } catch {
                end("connection to \(target) lost: \(farewell ?? error.message)")
            }
        }
        // An idle connection reads notices, too.
        if isReady, !machine.isWaiting { _ = handle.isBusy }
        takeNotices(of: handle)
    }

    private func perform(_ action: PipelineMachine<PostgreSQLResult>.Action) {
        switch action {
        case .wait: break
        case .end(.preparation(let statement), .done): prepared.insert(statement)
        case .end(.preparation(let statement), .refused), .end(.preparation(let statement), .unknown):
            prepared.remove(statement)
        case .end(.section, let outcome):
            guard !replies.isEmpty else { return }
            replies.removeFirst()(PostgreSQLReply(outcome))
        case .disconnect(let reason): end("connection to \(target) lost: \(reason)")
        }
    }

    private func takeNotices(of handle: ConnectionHandle) {
        for notice in handle.takeNotices() {
            if notice.endsConnection { farewell = notice.message }
            if notice.questionsCommit { machine.doubted(notice.message) }
            onNotice?(notice)
        }
    }
}

extension PostgreSQLReply {
    fileprivate init(_ outcome: PipelineMachine<PostgreSQLResult>.Outcome) {
        switch outcome {
        case .done(let results): self = .done(results)
        case .refused(let failure): self = .refused(failure)
        case .unknown(let reason): self = .unknown(reason)
        }
    }
}
