package import PushLoop

/// A request to a server on the network.
package struct HTTP1ClientRequest: Sendable {
    package var address: HTTP1Address
    package var contentType: String
    package var body: [UInt8]
    /// Further header fields. Names and values are those of the program: they have no line breaks.
    package var fields: [(name: String, value: String)] = []
    /// Whether the body of the response is read. Otherwise the status decides: a response ends with its body, its
    /// connection, its time, or after ``HTTP1ResponseMachine/unreadLimit`` bytes.
    package var readsBody = true
    /// The numeric address to connect to, if the name was looked up before.
    package var peer: String?
    /// The right to send, if it can end. Without it nothing is written.
    package var permit: SendingPermit?
    /// Returns whether the addresses of the server may be connected to; nil if any may.
    package var admits: (@Sendable ([SocketAddress]) -> Bool)?

    /// Creates a `POST` request.
    package init(post body: [UInt8], to address: HTTP1Address, contentType: String) {
        self.address = address
        self.contentType = contentType
        self.body = body
    }

    var bytes: [UInt8] {
        Array(
            """
            POST \(address.target) HTTP/1.1\r
            Host: \(address.host)\r
            User-Agent: carillon\r
            Accept: */*\r
            Content-Type: \(contentType)\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \(fields.map { "\($0.name): \($0.value)\r\n" }.joined())\r\n
            """.utf8) + body
    }
}

/// The reason why a request has no response.
package struct HTTP1ClientFault: Error, Sendable, CustomStringConvertible {
    package let address: HTTP1Address
    /// The reason, without the address.
    package let reason: String
    /// Whether the server may have received the request.
    package let isSent: Bool
    /// A ``TCPError`` or a ``ChannelClosure``, if the connection could not be made or has ended; nil for a response that
    /// cannot be read.
    package let cause: (any Error)?

    package var description: String { "\(address): \(reason)" }
}

/// One request to a server on the network and its response, on a connection of its own, with TLS for `https`. It is for
/// requests that are rare: each costs a connection. Confined to its loop.
package final class HTTP1ClientCall {
    package typealias Completion = (Result<HTTP1Response, HTTP1ClientFault>) -> Void

    private let loop: EventLoop
    private let request: HTTP1ClientRequest
    private let tls: TLSContext?
    private let completion: Completion
    private var connector: TCPConnector?
    private var channel: Channel?
    private var timer: TimerID?
    private var machine: HTTP1ResponseMachine
    private var isSent = false
    /// The call itself, until it has ended.
    private var retained: HTTP1ClientCall?

    /// Sends a request, and returns the response, whatever its status. If the task is cancelled, the connection is closed.
    /// The loop must not stop before.
    ///
    /// - Parameters:
    ///   - tls: the context for `https`, without ALPN protocols.
    ///   - time: the limit from the look-up of the name to the end of the response.
    package static func send(
        _ request: HTTP1ClientRequest, on loop: EventLoop, resolver: NameResolver, tls: TLSContext?,
        within time: Duration
    ) async throws(HTTP1ClientFault) -> HTTP1Response {
        let end = CallEnd()
        let result: Result<HTTP1Response, HTTP1ClientFault> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.execute {
                    let call = start(request, on: loop, resolver: resolver, tls: tls, within: time) {
                        continuation.resume(returning: $0)
                    }
                    if end.begun(LoopBound(call, on: loop)) { call.cancel() }
                }
            }
        } onCancel: {
            guard let call = end.cancelled() else { return }
            loop.executeUnlessStopped { call.wrapped.cancel() }
        }
        return try result.get()
    }

    /// Brings together a call and the end of the task that waits for it, whichever comes first.
    private final class CallEnd: Sendable {
        private let state = Locked<(isCancelled: Bool, call: LoopBound<HTTP1ClientCall>?)>((false, nil))

        /// Returns whether the task was cancelled before.
        func begun(_ call: LoopBound<HTTP1ClientCall>) -> Bool {
            state.withLock { state in
                state.call = call
                return state.isCancelled
            }
        }

        /// Returns the call, if it has begun.
        func cancelled() -> LoopBound<HTTP1ClientCall>? {
            state.withLock { state in
                state.isCancelled = true
                return state.call
            }
        }
    }

    /// Sends a request as ``send(_:on:resolver:tls:within:)`` does. Call this on the loop, which then calls the
    /// completion.
    @discardableResult
    package static func start(
        _ request: HTTP1ClientRequest, on loop: EventLoop, resolver: NameResolver, tls: TLSContext?,
        within time: Duration, completion: @escaping Completion
    ) -> HTTP1ClientCall {
        let call = HTTP1ClientCall(request, on: loop, tls: tls, completion: completion)
        call.begin(resolver, within: time)
        return call
    }

    private init(
        _ request: HTTP1ClientRequest, on loop: EventLoop, tls: TLSContext?, completion: @escaping Completion
    ) {
        self.loop = loop
        self.request = request
        self.tls = tls
        self.completion = completion
        machine = HTTP1ResponseMachine(readsBody: request.readsBody)
    }

    private func begin(_ resolver: NameResolver, within time: Duration) {
        retained = self
        guard !request.address.isSecure || tls != nil else {
            fail("there is no TLS configuration for https")
            return
        }
        let deadline = loop.now + time
        var endpoint = request.address.endpoint
        if let peer = request.peer { endpoint = HostPort(host: peer, port: endpoint.port) }
        connector = TCPConnector(
            on: loop, to: endpoint, resolver: resolver, deadline: deadline, admits: request.admits
        ) { [unowned self] result in connected(result) }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            let what = "timed out: no complete response within \(time)"
            fail(what, because: ChannelClosure.timedOut(what))
        }
    }

    private func connected(_ result: consuming TCPConnectResult) {
        connector = nil
        switch consume result {
        case .failed(let error): fail(error.message, because: error)
        case .connected(let socket, _):
            do throws(TLSError) {
                var engine: TLSEngine?
                if request.address.isSecure, let tls {
                    engine = try TLSEngine(context: tls, role: .client(serverName: request.address.endpoint.host))
                }
                let channel = Channel(socket, on: loop, tls: engine, handler: self)
                if let permit = request.permit { channel.mayWrite = { permit.isValid } }
                self.channel = channel
                channel.start()
            } catch {
                fail(error.message, because: ChannelClosure.tls(error))
            }
        }
    }

    private func fail(_ why: String, because cause: (any Error)? = nil) {
        if !request.readsBody, let response = machine.head { return end(.success(response)) }
        let fault = HTTP1ClientFault(address: request.address, reason: why, isSent: isSent, cause: cause)
        end(.failure(fault))
    }

    /// Ends the call, whose completion is called before this returns.
    package func cancel() { fail("cancelled", because: ChannelClosure.byUs) }

    private func end(_ result: Result<HTTP1Response, HTTP1ClientFault>) {
        guard retained != nil else { return }
        retained = nil
        connector?.cancel()
        connector = nil
        if let timer = timer.take() { loop.cancel(timer) }
        channel?.handler = nil
        channel?.abort()
        channel = nil
        completion(result)
    }
}

extension HTTP1ClientCall: ChannelHandler {
    package func channelOpened(_ channel: Channel) {
        guard request.permit?.isValid ?? true else {
            return fail("the right to send has ended", because: ChannelClosure.byUs)
        }
        isSent = true
        channel.write(request.bytes)
    }

    package func channel(_ channel: Channel, received bytes: UnsafeRawBufferPointer) {
        do throws(HTTP1ResponseMachine.Fault) {
            if let response = try unsafe machine.received(bytes) { end(.success(response)) }
        } catch {
            fail("cannot parse the response: \(error)")
        }
    }

    package func channelWantsOutput(_ channel: Channel) {}

    package func channel(_ channel: Channel, closed reason: ChannelClosure) {
        // With TLS, only close_notify shows that a response without a length is complete.
        guard case .byPeer = reason else {
            fail("\(reason)", because: reason)
            return
        }
        do throws(HTTP1ResponseMachine.Fault) {
            end(.success(try machine.ended()))
        } catch {
            fail("\(error)")
        }
    }
}
