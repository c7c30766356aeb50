import CNGHTTP2

/// A status as it goes into a header block, without writing its digits each time.
@safe
package struct HTTP2Status: @unchecked Sendable {
    // Unchecked: points into memory that is written once and never freed.
    let field: nghttp2_nv

    /// The digits of 100 to 599, one after another, and the name of the field after them.
    private static let text: SharedBytes = SharedBytes(
        (100...599).flatMap { Array(String($0).utf8) } + Array(":status".utf8))

    /// From 100 to 599.
    package init(_ code: Int) {
        precondition((100...599).contains(code), "\(code) is no HTTP status")
        let base = unsafe UnsafeMutablePointer(
            mutating: Self.text.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        unsafe field = nghttp2_nv(
            name: base + 1500, value: base + 3 * (code - 100), namelen: 7, valuelen: 3, flags: UInt8(flags))
    }
}
