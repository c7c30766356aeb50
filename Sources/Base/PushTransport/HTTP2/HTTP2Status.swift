import CNGHTTP2

/// A status code as a prepared header field, so that its digits are not formatted each time.
@safe
package struct HTTP2Status: @unchecked Sendable {
    // Unchecked: it points to memory that is written once and never freed.
    let field: nghttp2_nv

    /// The digits of the codes 100 to 599, followed by the name of the field.
    private static let text: SharedBytes = SharedBytes(
        (100...599).flatMap { Array(String($0).utf8) } + Array(":status".utf8))

    /// Creates a status from a code between 100 and 599.
    package init(_ code: Int) {
        precondition((100...599).contains(code), "\(code) is not an HTTP status")
        let base = unsafe UnsafeMutablePointer(
            mutating: Self.text.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        unsafe field = nghttp2_nv(
            name: base + 1500, value: base + 3 * (code - 100), namelen: 7, valuelen: 3, flags: UInt8(flags))
    }
}
