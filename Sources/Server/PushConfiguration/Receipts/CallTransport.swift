package import PushLoop
package import PushTransport
package import Receipts

/// The network of the receipts library, on Carillon's own connections.
package struct CallTransport: ReceiptTransport {
    private let loop: EventLoop
    private let context: TLSContext
    private let resolver: NameResolver

    package init(on loop: EventLoop, tls context: TLSContext, resolver: NameResolver) {
        self.loop = loop
        self.context = context
        self.resolver = resolver
    }

    package func post(_ request: ReceiptRequest) async throws -> ReceiptResponse {
        guard let address = HTTP1Address(request.url) else { throw InvalidURL() }
        let response: HTTP1Response
        do {
            response = try await HTTP1ClientCall.send(
                HTTP1ClientRequest(post: request.body, to: address, contentType: request.contentType), on: loop,
                resolver: resolver, tls: context, within: request.timeLimit)
        } catch {
            throw Unreachable(description: error.reason)
        }
        guard response.body.count <= request.maxResponseLength else { throw TooLong() }
        return ReceiptResponse(status: response.status, body: response.body)
    }

    /// The library names the address itself.
    private struct Unreachable: Error, CustomStringConvertible {
        let description: String
    }

    private struct InvalidURL: Error, CustomStringConvertible {
        var description: String { "the address is not valid" }
    }

    private struct TooLong: Error, CustomStringConvertible {
        var description: String { "the response is too long" }
    }
}
