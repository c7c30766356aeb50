import Glibc
package import PushLoop

/// One attempt to connect to a host: it resolves the name, then tries the addresses in turn until a common deadline.
/// Confined to its loop.
package final class TCPConnector {
    package typealias Completion = (consuming TCPConnectResult) -> Void

    private let loop: EventLoop
    private let endpoint: HostPort
    private let deadline: MonotonicTime
    private let admits: (@Sendable ([SocketAddress]) -> Bool)?
    private var completion: Completion?
    private var waiting: ArraySlice<SocketAddress> = []
    private var attempt: Attempt?
    private var timer: TimerID?
    private var lastError: TCPError?

    private final class Attempt {
        let descriptor: CInt
        let address: SocketAddress
        var socket: Socket?
        var watch: Watch?

        init(_ socket: consuming Socket, to address: SocketAddress) {
            descriptor = socket.descriptor
            self.socket = consume socket
            self.address = address
        }
    }

    /// Starts connecting. The completion is called exactly once, on the loop, and never from within this call. After
    /// ``cancel()`` it is not called.
    ///
    /// - Parameter admits: Returns whether the addresses of the host may be connected to; nil if any may. The addresses
    ///   that it saw are those that are dialled, whatever the name leads to at the next look-up.
    package init(
        on loop: EventLoop, to endpoint: HostPort, resolver: NameResolver, deadline: MonotonicTime,
        admits: (@Sendable ([SocketAddress]) -> Bool)? = nil, completion: @escaping Completion
    ) {
        self.loop = loop
        self.endpoint = endpoint
        self.deadline = deadline
        self.admits = admits
        self.completion = completion
        timer = loop.schedule(at: deadline) { [weak self] in self?.deadlinePassed() }
        if let address = SocketAddress(ip: endpoint.host, port: endpoint.port) {
            loop.execute { [box = LoopBound(WeakConnector(self), on: loop)] in
                box.wrapped.connector?.resolved(.success([address]))
            }
            return
        }
        let box = LoopBound(WeakConnector(self), on: loop)
        Task {
            let outcome: Result<[SocketAddress], TCPError>
            do throws(TCPError) {
                outcome = .success(try await resolver.resolve(endpoint))
            } catch {
                outcome = .failure(error)
            }
            // The lookup cannot be cancelled, so it may end after the loop has stopped; its result is then unused.
            loop.executeUnlessStopped { box.wrapped.connector?.resolved(outcome) }
        }
    }

    private struct WeakConnector {
        weak var connector: TCPConnector?

        init(_ connector: TCPConnector) {
            self.connector = connector
        }
    }

    /// Stops the attempt. The completion is not called.
    package func cancel() {
        completion = nil
        end()
    }

    private func resolved(_ outcome: Result<[SocketAddress], TCPError>) {
        guard completion != nil else { return }
        switch outcome {
        case .success(let addresses):
            guard admits?(addresses) ?? true else {
                finish(
                    .failed(
                        TCPError(
                            .notPermitted,
                            message: "cannot connect to \(endpoint.host): the name leads to a private address")))
                return
            }
            waiting = addresses[...]
            tryNext()
        case .failure(let error):
            finish(.failed(error))
        }
    }

    private func tryNext() {
        guard completion != nil else { return }
        dropAttempt()
        guard let address = waiting.popFirst() else {
            let error = lastError ?? TCPError(.other, message: "cannot connect to \(endpoint): no address left to try")
            finish(.failed(error))
            return
        }
        do throws(SystemError) {
            let socket = try Socket.stream(family: address.family)
            socket.sendWithoutDelay()
            let attempt = Attempt(socket, to: address)
            let result = unsafe address.withSockaddr { unsafe connect(attempt.descriptor, $0, $1) }
            guard result == 0 || errno == EINPROGRESS else { throw .current }
            self.attempt = attempt
            limitTime(of: attempt)
            let watch = Watch(attempt.descriptor, on: loop) { [unowned self] _ in answered() }
            watch.interest = .writable
            attempt.watch = watch
        } catch {
            lastError = TCPError(connecting: "\(endpoint) (\(address))", error: error)
            tryNext()
        }
    }

    /// Limits the time of one address to its share of the remaining time, so that an address that does not respond does
    /// not use all of it.
    private func limitTime(of attempt: Attempt) {
        guard !waiting.isEmpty else { return }
        let share = .nanoseconds((deadline - loop.now).wholeNanoseconds / Int64(waiting.count + 1)) as Duration
        loop.schedule(after: share) { [weak self, weak attempt] in
            guard let self, let attempt, self.attempt === attempt, completion != nil else { return }
            lastError = TCPError(connecting: "\(endpoint) (\(attempt.address))", error: SystemError(number: ETIMEDOUT))
            tryNext()
        }
    }

    private func answered() {
        guard let attempt else { return }
        if let error = Socket.pendingError(of: attempt.descriptor) {
            lastError = TCPError(connecting: "\(endpoint) (\(attempt.address))", error: error)
            tryNext()
            return
        }
        // Cancel the watch first: the descriptor then belongs to the new owner of the connection.
        attempt.watch?.cancel()
        attempt.watch = nil
        guard let socket = attempt.socket.take() else { preconditionFailure("a connect completed twice") }
        finish(.connected(socket, attempt.address))
    }

    private func deadlinePassed() {
        timer = nil
        let last = lastError.map { "; before that: \($0)" } ?? ""
        finish(.failed(TCPError(.timedOut, message: "cannot connect to \(endpoint): timed out\(last)")))
    }

    private func finish(_ result: consuming TCPConnectResult) {
        guard let completion = completion.take() else { return }
        end()
        completion(result)
    }

    private func end() {
        dropAttempt()
        if let timer = timer.take() { loop.cancel(timer) }
        waiting = []
    }

    private func dropAttempt() {
        attempt?.watch?.cancel()
        attempt?.watch = nil
        attempt = nil
    }
}

package enum TCPConnectResult: ~Copyable {
    case connected(Socket, SocketAddress)
    case failed(TCPError)
}
