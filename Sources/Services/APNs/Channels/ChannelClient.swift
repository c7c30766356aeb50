package import PushGateways
package import PushLoop
package import PushTransport
import PushWire

/// Creates, reads, lists and deletes broadcast channels, and sends broadcasts, over one connection to one host.
///
/// Management and sending have separate hosts (`ChannelService`), and so need a client each. The client connects with
/// the first call, and again with the first call after a connection has ended. Calls are sent in order as the
/// provider's stream limit allows. A request is never sent twice; the error shows whether a retry may repeat its
/// effect. ``close()`` must be called before the client is released.
package actor ChannelClient {
    package struct Options: Sendable {
        package var endpoint: HostPort
        /// The name for which the server's certificate must be issued; nil for the host of `endpoint`.
        package var serverName: String?
        /// The maximum number of calls that wait or are in flight. Above it calls fail with `busy`. Default 64.
        package var callLimit = 64
        /// The time limit of a call without its own one. Default 30 s.
        package var answerTimeout: Duration = .seconds(30)
        package var connection: HTTP2ClientConnection.Options

        package init(_ endpoint: HostPort) {
            self.endpoint = endpoint
            connection = HTTP2ClientConnection.Options()
            // The list of an app's channels, which are at most 10,000, fits into this.
            connection.limits.maxBodyBytes = 4 << 20
        }
    }

    private struct Call {
        let request: ChannelRequest
        let token: ProviderToken?
        let timeout: Duration
        let continuation: CheckedContinuation<Result<ChannelAnswer, ChannelError>, Never>
        var timer: TimerID?
        /// The number of the line on which the request was sent.
        var line: UInt64?
    }

    package nonisolated let loop: EventLoop
    private let options: Options
    private let tls: TLSContext
    private let resolver: NameResolver
    private let authority: String
    private var calls: [UInt64: Call] = [:]
    /// The calls that have not been sent, oldest first.
    private var waiting: [UInt64] = []
    /// The line for new calls. The lines in ``closingLines`` only wait for answers.
    private var line: ChannelLine?
    private var closingLines: [UInt64: ChannelLine] = [:]
    private var nextTag: UInt64 = 1
    private var nextLine: UInt64 = 1
    private var isClosed = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package init(on loop: EventLoop, options: Options, tls: TLSContext, resolver: NameResolver) {
        self.loop = loop
        self.options = options
        self.tls = tls
        self.resolver = resolver
        authority = options.endpoint.port == 443 ? options.endpoint.host : options.endpoint.description
    }

    package func create(
        _ policy: ChannelPolicy, of app: BundleID, token: ProviderToken?, within timeout: Duration? = nil
    ) async throws(ChannelError) -> ChannelID {
        let answer = try await call(ChannelRequest(.create(policy), of: app), token: token, within: timeout)
        guard case .created(let id) = answer else { throw Self.mismatchedAnswer }
        return id
    }

    package func read(
        _ channel: ChannelID, of app: BundleID, token: ProviderToken?, within timeout: Duration? = nil
    ) async throws(ChannelError) -> ChannelDescription {
        let answer = try await call(ChannelRequest(.read(channel), of: app), token: token, within: timeout)
        guard case .described(let description) = answer else { throw Self.mismatchedAnswer }
        return description
    }

    package func list(
        of app: BundleID, token: ProviderToken?, within timeout: Duration? = nil
    ) async throws(ChannelError) -> [ChannelID] {
        let answer = try await call(ChannelRequest(.list, of: app), token: token, within: timeout)
        guard case .listed(let channels) = answer else { throw Self.mismatchedAnswer }
        return channels
    }

    package func delete(
        _ channel: ChannelID, of app: BundleID, token: ProviderToken?, within timeout: Duration? = nil
    ) async throws(ChannelError) {
        _ = try await call(ChannelRequest(.delete(channel), of: app), token: token, within: timeout)
    }

    /// Sends a broadcast, and returns when the provider has accepted it. `PayloadRules` with the target `broadcast` can
    /// check the payload before.
    package func send(
        _ broadcast: Broadcast, of app: BundleID, token: ProviderToken?, within timeout: Duration? = nil
    ) async throws(ChannelError) {
        _ = try await call(ChannelRequest(.send(broadcast), of: app), token: token, within: timeout)
    }

    /// Sends one request and returns its answer. Without a token the client's certificate authenticates it.
    package func call(
        _ request: ChannelRequest, token: ProviderToken?, within timeout: Duration? = nil
    ) async throws(ChannelError) -> ChannelAnswer {
        guard !isClosed else { throw .closed }
        guard calls.count < options.callLimit else { throw .busy(limit: options.callLimit) }
        let tag = nextTag
        nextTag += 1
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let call = Call(
                    request: request, token: token, timeout: timeout ?? options.answerTimeout,
                    continuation: continuation)
                begin(call, tag: tag)
            }
        } onCancel: {
            loop.executeUnlessStopped { [weak self] in self?.assumeIsolated { $0.cancelled(tag) } }
        }
        return try result.get()
    }

    /// Fails every call, and closes the connection.
    package func close() {
        isClosed = true
        for line in (line.map { [$0] } ?? []) + closingLines.values { line.close() }
        line = nil
        closingLines = [:]
        for tag in Array(calls.keys) { end(tag, with: .failure(.closed)) }
    }

    /// The number of calls that wait or are in flight.
    package var callCount: Int { calls.count }

    private static let mismatchedAnswer = ChannelError.unreadable("it does not match the request")

    // MARK: Calls

    private func begin(_ call: Call, tag: UInt64) {
        // If the task was cancelled earlier, its handler ran before the call was registered and had no effect.
        guard !Task.isCancelled else {
            call.continuation.resume(returning: .failure(.cancelled(wasSent: false)))
            return
        }
        calls[tag] = call
        calls[tag]?.timer = loop.schedule(after: call.timeout) { [weak self] in
            self?.assumeIsolated { $0.timedOut(tag) }
        }
        waiting.append(tag)
        if line == nil { connect() }
        sendWaiting()
    }

    private func connect() {
        let line = ChannelLine(nextLine, of: self)
        nextLine += 1
        self.line = line
        line.connect(on: loop, options: options, tls: tls, resolver: resolver)
    }

    private func sendWaiting() {
        guard let line else { return }
        var sent = 0
        for tag in waiting {
            guard let call = calls[tag],
                line.submit(call.request, authority: authority, token: call.token, tag: tag)
            else { break }
            calls[tag]?.line = line.number
            sent += 1
        }
        waiting.removeFirst(sent)
    }

    private func end(_ tag: UInt64, with result: Result<ChannelAnswer, ChannelError>) {
        guard let call = calls.removeValue(forKey: tag) else { return }
        if let timer = call.timer { loop.cancel(timer) }
        if call.line == nil { waiting.removeAll { $0 == tag } }
        call.continuation.resume(returning: result)
    }

    private func timedOut(_ tag: UInt64) {
        calls[tag]?.timer = nil
        guard let call = calls[tag] else { return }
        giveUp(tag, on: call.line)
        end(tag, with: .failure(.timedOut(after: call.timeout, wasSent: call.line != nil)))
    }

    private func cancelled(_ tag: UInt64) {
        guard let call = calls[tag] else { return }
        giveUp(tag, on: call.line)
        end(tag, with: .failure(.cancelled(wasSent: call.line != nil)))
    }

    private func giveUp(_ tag: UInt64, on number: UInt64?) {
        if let number { line(number)?.abandon(tag) }
    }

    // MARK: Events of lines

    func roomChanged() {
        sendWaiting()
    }

    func answered(_ tag: UInt64, with answer: ChannelLine.Answer) {
        guard let call = calls[tag] else { return }
        guard !answer.isTruncated else {
            end(tag, with: .failure(.unreadable("it is larger than \(options.connection.limits.maxBodyBytes) bytes")))
            return
        }
        do throws(ChannelAnswerError) {
            let answer = try call.request.answer(
                status: answer.status, channelID: answer.channelID, retryAfter: answer.retryAfter, body: answer.body)
            end(tag, with: .success(answer))
        } catch {
            switch error {
            case .refused(let refusal): end(tag, with: .failure(.refused(refusal, requestID: answer.requestID)))
            case .unreadable(let what): end(tag, with: .failure(.unreadable(what)))
            }
        }
    }

    func unanswered(_ tag: UInt64, because failure: HTTP2StreamFailure) {
        switch failure {
        case .notProcessed: end(tag, with: .failure(.notSent(notProcessedReason(on: calls[tag]?.line))))
        case .reset: end(tag, with: .failure(.unanswered(.reset)))
        case .connectionLost: end(tag, with: .failure(.unanswered(.connectionLost)))
        }
    }

    /// Called when the provider ends a connection. Calls in flight may still be answered. Waiting calls fail, because
    /// only their callers know whether a retry makes sense.
    func goAwayReceived(on number: UInt64) {
        guard let closing = line, closing.number == number else { return }
        closingLines[number] = closing
        line = nil
        endWaiting(because: notProcessedReason(on: number))
    }

    private func notProcessedReason(on number: UInt64?) -> String {
        guard let number, let line = line(number) else { return "not connected" }
        guard let reason = line.goAwayReason else { return "the provider refused the request without processing it" }
        return "the provider closed the connection before it processed the request (\(reason))"
    }

    private func line(_ number: UInt64) -> ChannelLine? {
        line?.number == number ? line : closingLines[number]
    }

    func ended(_ number: UInt64, because closure: HTTP2Closure) {
        closingLines[number] = nil
        guard line?.number == number else { return }
        line = nil
        endWaiting(because: "\(closure)")
    }

    private func endWaiting(because reason: String) {
        for tag in waiting { end(tag, with: .failure(isClosed ? .closed : .notSent(reason))) }
    }
}
