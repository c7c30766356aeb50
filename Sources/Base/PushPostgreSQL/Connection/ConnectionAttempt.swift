import PushLoop

/// One attempt to connect to one address and to authenticate there. Confined to its loop.
final class ConnectionAttempt {
    typealias Completion = (Result<ConnectionHandle, PostgreSQLError>) -> Void

    private let loop: EventLoop
    private var completion: Completion?
    private var handle: ConnectionHandle?
    private var watch: Watch?
    private var timer: TimerID?

    /// Starts connecting. The completion is called once, in pipeline mode or with the reason, and never from within
    /// this call. After ``cancel()`` it is not called.
    init(
        on loop: EventLoop, to target: PostgreSQLTarget, options: PostgreSQLOptions, completion: @escaping Completion
    ) {
        self.loop = loop
        self.completion = completion
        timer = loop.schedule(after: options.connectTimeout) { [weak self] in
            self?.timer = nil
            self?.fail("\(target): timed out: the server did not accept the connection in time")
        }
        do throws(PostgreSQLError) {
            try Self.checkVerification(of: target, options: options)
            let handle = try ConnectionHandle(try LibPQ.shared(), parameters: options.parameters(for: target))
            self.handle = handle
            guard !handle.isBad else { throw PostgreSQLError(message: handle.message) }
            // libpq asks for this before its first poll.
            try watchSocket(of: handle, for: .writable)
        } catch {
            let message = error.message
            loop.schedule(after: .zero) { [weak self] in self?.fail(message) }
        }
    }

    func cancel() {
        completion = nil
        end()
    }

    /// Checks that a server whose certificate is not verified is on this machine. URLs are checked by the names of
    /// hosts; this is the address.
    private static func checkVerification(
        of target: PostgreSQLTarget, options: PostgreSQLOptions
    ) throws(PostgreSQLError) {
        guard options.verification != .verifyFull, let address = target.address,
            !PostgreSQLHost.isLoopback(address)
        else { return }
        throw PostgreSQLError(message: "\(target) is not an address of this machine; use sslmode=verify-full")
    }

    /// Watches the current socket: libpq may replace it with each poll.
    private func watchSocket(of handle: ConnectionHandle, for interest: Watch.Readiness) throws(PostgreSQLError) {
        let descriptor = handle.descriptor
        guard descriptor >= 0 else { throw PostgreSQLError(message: handle.message) }
        let watch = Watch(descriptor, on: loop) { [unowned self] _ in poll() }
        self.watch = watch
        watch.interest = interest
    }

    private func poll() {
        guard let handle else { return }
        // The poll may close the socket.
        watch?.cancel()
        watch = nil
        do throws(PostgreSQLError) {
            switch handle.poll() {
            case .wantsRead: try watchSocket(of: handle, for: .readable)
            case .wantsWrite: try watchSocket(of: handle, for: .writable)
            case .failed: throw PostgreSQLError(message: Self.advice(on: handle.message))
            case .connected:
                guard handle.enterPipeline() else { throw PostgreSQLError(message: handle.message) }
                let completion = completion.take()
                end()
                completion?(.success(handle))
            }
        } catch {
            fail(error.message)
        }
    }

    static func advice(on message: String) -> String {
        if message.contains("session is read-only") {
            return message
                + "; the server is a standby, or forbids writes: connect to the primary, or promote the server"
        }
        // PgBouncer has these words. It may give each section to another server process, which does not have the
        // prepared statements.
        if message.contains("unsupported startup parameter") {
            return message + "; this is a pooler of connections: connect to PostgreSQL itself"
        }
        return message
    }

    private func fail(_ message: String) {
        let completion = completion.take()
        end()
        completion?(.failure(PostgreSQLError(message: message)))
    }

    private func end() {
        // The watch must end before libpq closes the socket.
        watch?.cancel()
        watch = nil
        if let timer = timer.take() { loop.cancel(timer) }
        handle = nil
    }
}
