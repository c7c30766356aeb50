import Glibc
import PushLoop

/// A TCP port that sends arbitrary bytes to its clients. Its calls block, but not beyond their ``Patience``,
/// and run on threads of their own.
package final class RawListener: Sendable {
    package let port: UInt16
    private let descriptor: CInt

    /// Listens on a free port of the loopback address.
    package init() throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw RawPeer.Failure(action: "make a socket", number: errno) }
        Patience.prepare(descriptor)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard result else { throw RawPeer.Failure(action: "listen", number: errno) }
        port = UInt16(bigEndian: address.sin_port)
    }

    package func close() {
        Glibc.close(descriptor)
    }

    /// Accepts one connection, reads a request that ends with `end`, writes the text, and closes. Without a text it
    /// returns when the request has arrived, and leaves the connection open.
    package func serveOnce(_ text: String?, after end: String) async throws {
        let descriptor = descriptor
        let number: CInt = await withCheckedContinuation { continuation in
            _ = NamedThread(named: "raw-listener") {
                continuation.resume(returning: Self.serve(text, after: Array(end.utf8), on: descriptor))
            }
        }
        guard number == 0 else { throw RawPeer.Failure(action: "serve a client", number: number) }
    }

    private static func serve(_ text: String?, after end: [UInt8], on descriptor: CInt) -> CInt {
        let client = CInt(Patience.persist { Int(accept(descriptor, nil, nil)) })
        guard client >= 0 else { return errno }
        Patience.prepare(client)
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while !received.suffix(end.count).elementsEqual(end) {
            let count = Patience.persist { recv(client, &piece, piece.count, 0) }
            guard count > 0 else { return count == 0 ? ECONNRESET : errno }
            received += piece[..<count]
        }
        guard let text else { return 0 }
        let bytes = Array(text.utf8)
        let sent = send(client, bytes, bytes.count, CInt(MSG_NOSIGNAL))
        Glibc.close(client)
        return sent == bytes.count ? 0 : EPIPE
    }
}
