private import CNGHTTP2

/// A violation of HTTP/2 by the peer, or a lack of memory. The connection must be closed.
package struct HTTP2Error: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// The first bytes were not HTTP/2. The peer speaks another protocol.
        case notHTTP2
        case protocolViolation
        /// The peer sent too many frames that do nothing, or too many header fields.
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
            self.init(.notHTTP2, message: "the peer does not speak HTTP/2 (it did not send the connection preface)")
        case NGHTTP2_ERR_FLOODED:
            self = .controlFrames
        case NGHTTP2_ERR_NOMEM:
            self.init(.outOfMemory, message: "out of memory in HTTP/2")
        case NGHTTP2_ERR_CALLBACK_FAILURE:
            self.init(.other, message: "HTTP/2 connection ended: a limit of this side was exceeded")
        default:
            self.init(.protocolViolation, message: "HTTP/2 protocol violation: \(text)")
        }
    }

    /// nghttp2 detected a violation and has prepared the GOAWAY that reports it.
    static let gaveUp = HTTP2Error(
        .protocolViolation, message: "HTTP/2 protocol violation: the peer sent invalid frames")

    static let controlFrames = HTTP2Error(
        .flooded, message: "the peer flooded the connection with control frames")

    static let idleFrames = HTTP2Error(
        .flooded, message: "the peer flooded the connection with frames that answer nothing")

    static let excessiveFields = HTTP2Error(
        .flooded, message: "the peer sent far more header fields than an answer may have")

    init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
