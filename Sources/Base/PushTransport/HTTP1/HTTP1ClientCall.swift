package import PushLoop

/// A request to a server on the network.
package struct HTTP1ClientRequest: Sendable {
    package var address: HTTP1Address
    package var contentType: String
    package var body: [UInt8]

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
            \r\n
            """.utf8) + body
    }
}

/// The reason why a request has no response.
package struct HTTP1ClientFault: Error, Sendable, CustomStringConvertible {
    package let address: HTTP1Address
    /// The reason, without the address.
    package let reason: String

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
    private var machine = HTTP1ResponseMachine()
    /// The call itself, until it has ended.
    private var retained: HTTP1ClientCall?

    /// Sends a request, and returns the response, whatever its status. The loop must not stop before.
    ///
    /// - Parameters:
    ///   - tls: the context for `https`, without ALPN protocols.
    ///   - time: the limit from the look-up of the name to the end of the response.
    package static func send(
        _ request: HTTP1ClientRequest, on loop: EventLoop, resolver: NameResolver, tls: TLSContext?,
        within time: Duration
    ) async throws(HTTP1ClientFault) -> HTTP1Response {
        let result: Result<HTTP1Response, HTTP1ClientFault> = await withCheckedContinuation { continuation in
            loop.execute {
                start(request, on: loop, resolver: resolver, tls: tls, within: time) {
                    continuation.resume(returning: $0)
                }
            }
        }
        return try result.get()
    }

    /// Sends a request as ``send(_:on:resolver:tls:within:)`` does. Call this on the loop, which then calls the
    /// completion.
    package static func start(
        _ request: HTTP1ClientRequest, on loop: EventLoop, resolver: NameResolver, tls: TLSContext?,
        within time: Duration, completion: @escaping Completion
    ) {
        HTTP1ClientCall(request, on: loop, tls: tls, completion: completion).begin(resolver, within: time)
    }

    private init(
        _ request: HTTP1ClientRequest, on loop: EventLoop, tls: TLSContext?, completion: @escaping Completion
    ) {
        self.loop = loop
        self.request = request
        self.tls = tls
        self.completion = completion
    }

    private func begin(_ resolver: NameResolver, within time: Duration) {
        retained = self
        guard !request.address.isSecure || tls != nil else {
            fail("there is no TLS configuration for https")
            return
        }
        let deadline = loop.now + time
        connector = TCPConnector(on: loop, to: request.address.endpoint, resolver: resolver, deadline: deadline) {
            [unowned self] result in
            connected(result)
        }
        timer = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            fail("timed out: no complete response within \(time)")
        }
    }

    private func connected(_ result: consuming TCPConnectResult) {
        connector = nil
        switch consume result {
        case .failed(let error): fail(error.message)
        case .connected(let socket, _):
            do throws(TLSError) {
                var engine: TLSEngine?
                if request.address.isSecure, let tls {
                    engine = try TLSEngine(context: tls, role: .client(serverName: request.address.endpoint.host))
                }
                let channel = Channel(socket, on: loop, tls: engine, handler: self)
                self.channel = channel
                channel.start()
            } catch {
                fail(error.message)
            }
        }
    }

    private func fail(_ why: String) {
        end(.failure(HTTP1ClientFault(address: request.address, reason: why)))
    }

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
            fail("\(reason)")
            return
        }
        do throws(HTTP1ResponseMachine.Fault) {
            end(.success(try machine.ended()))
        } catch {
            fail("\(error)")
        }
    }
}
