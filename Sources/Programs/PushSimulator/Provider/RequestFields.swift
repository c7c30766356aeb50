/// The headers of one request that the rules need, as views of borrowed memory.
///
/// The caller passes every header of the request to `take`, in order; repeated headers are detected that way.
package struct RequestFields {
    private(set) var method: ByteView?
    private(set) var path: ByteView?
    private(set) var authorization: ByteView?
    private(set) var topic: ByteView?
    private(set) var pushType: ByteView?
    private(set) var messageID: ByteView?
    private(set) var expiration: ByteView?
    private(set) var priority: ByteView?
    private(set) var collapseID: ByteView?
    private(set) var channelID: ByteView?
    private(set) var requestID: ByteView?
    /// Whether one of the headers above occurred twice.
    private(set) var hasRepeated = false

    package init() {}

    /// - Important: Both buffers must stay valid until the request has been judged.
    @unsafe
    package mutating func take(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        unsafe take(name: ByteView(borrowing: name), value: ByteView(borrowing: value))
    }

    @inline(__always)
    package mutating func take(name: ByteView, value: ByteView) {
        switch name.count {
        case 5: if name.equals(":path") { Self.keep(value, in: &path, hasRepeated: &hasRepeated) }
        case 7:
            if name.equals("apns-id") {
                Self.keep(value, in: &messageID, hasRepeated: &hasRepeated)
            } else if name.equals(":method") {
                Self.keep(value, in: &method, hasRepeated: &hasRepeated)
            }
        case 10: if name.equals("apns-topic") { Self.keep(value, in: &topic, hasRepeated: &hasRepeated) }
        case 13:
            if name.equals("authorization") {
                Self.keep(value, in: &authorization, hasRepeated: &hasRepeated)
            } else if name.equals("apns-priority") {
                Self.keep(value, in: &priority, hasRepeated: &hasRepeated)
            }
        case 14: if name.equals("apns-push-type") { Self.keep(value, in: &pushType, hasRepeated: &hasRepeated) }
        case 15:
            if name.equals("apns-expiration") {
                Self.keep(value, in: &expiration, hasRepeated: &hasRepeated)
            } else if name.equals("apns-channel-id") {
                Self.keep(value, in: &channelID, hasRepeated: &hasRepeated)
            } else if name.equals("apns-request-id") {
                Self.keep(value, in: &requestID, hasRepeated: &hasRepeated)
            }
        case 16: if name.equals("apns-collapse-id") { Self.keep(value, in: &collapseID, hasRepeated: &hasRepeated) }
        default: break
        }
    }

    @inline(__always)
    private static func keep(_ value: ByteView, in field: inout ByteView?, hasRepeated: inout Bool) {
        if field != nil {
            hasRepeated = true
        } else {
            field = value
        }
    }
}
