private import CNGHTTP2

/// The peer broke HTTP/2, or this side ran out of memory. The connection is of no more use.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The first bytes were not HTTP/2: another protocol speaks there.
        case notHTTP2
        case protocolViolation
        /// The peer sent more small frames than anyone needs to (PING, SETTINGS, RST floods).
        case flooded
        case outOfMemory
        case other
    }

    package let code: Code
    package let message: String

    init(nghttp2 number: Int) {
        let text = unsafe String(cString: nghttp2_strerror(CInt(clamping: number)))
        switch nghttp2_error(rawValue: Int32(clamping: number)) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
            self.init(.notHTTP2, "the peer does not speak HTTP/2 (it did not send the connection preface)")
        case NGHTTP2_ERR_FLOODED:
            self.init(.flooded, "the peer flooded the connection with control frames")
        case NGHTTP2_ERR_NOMEM:
            self.init(.outOfMemory, "out of memory in HTTP/2")
        case NGHTTP2_ERR_CALLBACK_FAILURE:
            self.init(.other, "HTTP/2 ended the connection: a limit of this side was crossed")
        default:
            self.init(.protocolViolation, "HTTP/2 protocol violation: \(text)")
        }
    }

    /// nghttp2 found a violation and has the GOAWAY ready that says so.
    static let gaveUp = HTTP2Error(
        .protocolViolation, "HTTP/2 protocol violation: the peer sent frames that must not be sent")

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
