import CNGHTTP2

/// Decodes the header fields of answers with nghttp2.
@safe
struct HPACKDecoder: ~Copyable {
    private let inflater: OpaquePointer
    private let memory = HTTP2Memory()

    /// - Parameter tableSize: The size of the table that this side announces, if it is not the default.
    init(tableSize: UInt32?) {
        var inflater: OpaquePointer?
        let result = unsafe nghttp2_hd_inflate_new2(&inflater, memory.functions)
        guard result == 0, let inflater = unsafe inflater else { fatalError("out of memory for HTTP/2") }
        unsafe self.inflater = unsafe inflater
        if let tableSize {
            let result = unsafe nghttp2_hd_inflate_change_table_size(inflater, Int(tableSize))
            guard result == 0 else { fatalError("out of memory for HTTP/2") }
        }
    }

    deinit {
        unsafe nghttp2_hd_inflate_del(inflater)
    }

    /// Decodes a piece of a header block, and passes each field on, where it is valid during the call.
    ///
    /// - Parameter isLast: Whether the block ends with this piece.
    func decode(
        _ bytes: UnsafeRawBufferPointer, isLast: Bool, field take: (HTTP2Field) throws(HTTP2Violation) -> Void
    ) throws(HTTP2Violation) {
        var input = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var rest = bytes.count
        while true {
            var field = unsafe nghttp2_nv()
            var flags: CInt = 0
            let used = unsafe nghttp2_hd_inflate_hd2(inflater, &field, &flags, input, rest, isLast ? 1 : 0)
            guard used >= 0 else { throw Self.violation(used) }
            unsafe input = input.map { unsafe $0 + used }
            rest -= used
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                try unsafe take(
                    HTTP2Field(
                        name: UnsafeRawBufferPointer(start: field.name, count: field.namelen),
                        value: UnsafeRawBufferPointer(start: field.value, count: field.valuelen)))
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                unsafe nghttp2_hd_inflate_end_headers(inflater)
                return
            }
            if flags & CInt(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0, rest == 0 { return }
        }
    }

    private static func violation(_ number: Int) -> HTTP2Violation {
        guard number != Int(NGHTTP2_ERR_NOMEM.rawValue) else {
            return HTTP2Violation(.internalError, error: HTTP2Error(nghttp2: number))
        }
        return HTTP2Violation(.compressionError, "the header fields cannot be decoded")
    }

    static func isValidName(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe nghttp2_check_header_name(name.baseAddress?.assumingMemoryBound(to: UInt8.self), name.count) != 0
    }

    static func isValidValue(_ value: UnsafeRawBufferPointer) -> Bool {
        unsafe value.count == 0
            || nghttp2_check_header_value_rfc9113(value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count)
                != 0
    }
}
