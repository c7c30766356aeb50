/// An HTTP/2 error code (RFC 9113, section 7). Any number is valid, because a peer may send any.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let noError = HTTP2ErrorCode(rawValue: 0)
    package static let protocolError = HTTP2ErrorCode(rawValue: 1)
    package static let internalError = HTTP2ErrorCode(rawValue: 2)
    package static let flowControlError = HTTP2ErrorCode(rawValue: 3)
    package static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    package static let frameSizeError = HTTP2ErrorCode(rawValue: 6)
    package static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    package static let cancel = HTTP2ErrorCode(rawValue: 8)
    package static let compressionError = HTTP2ErrorCode(rawValue: 9)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    package var description: String {
        rawValue < UInt32(Self.names.count) ? Self.names[Int(rawValue)] : "error \(rawValue)"
    }
}
