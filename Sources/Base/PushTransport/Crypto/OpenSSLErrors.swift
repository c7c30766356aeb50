private import COpenSSL

/// The content of this thread's OpenSSL error queue, oldest error first.
struct OpenSSLErrors {
    struct Entry {
        let library: CInt
        let reason: CInt
        let text: String
    }

    private(set) var entries: [Entry] = []

    /// Empties the queue and returns its errors: those since the last `clear()`.
    static func drain() -> OpenSSLErrors {
        var errors = OpenSSLErrors()
        var data: UnsafePointer<CChar>?
        var flags: CInt = 0
        while true {
            let code = unsafe ERR_get_error_all(nil, nil, nil, &data, &flags)
            if code == 0 { break }
            var text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
            if flags & ERR_TXT_STRING != 0, let data = unsafe data {
                let detail = unsafe String(cString: data)
                if !detail.isEmpty { text += " (\(detail))" }
            }
            errors.entries.append(Entry(library: ERR_GET_LIB(code), reason: ERR_GET_REASON(code), text: text))
        }
        return errors
    }

    /// Empties the queue. Call it before each call whose errors must not mix with earlier ones.
    @inline(__always)
    static func clear() {
        ERR_clear_error()
    }

    /// The first reason code of the TLS library.
    var tlsReason: CInt? {
        entries.first { $0.library == ERR_LIB_SSL }?.reason
    }

    /// Whether an operation failed because no loaded provider supports it.
    var isUnsupported: Bool {
        entries.contains { COpenSSL_is_unsupported($0.reason) == 1 }
    }

    /// The error texts, the cause first. Peers influence them, so the length is limited.
    var text: String {
        var seen: [String] = []
        for entry in entries where !seen.contains(entry.text) {
            seen.append(entry.text)
        }
        return seen.isEmpty ? "unknown cause" : printable(seen.joined(separator: "; "), limit: 300)
    }
}

/// Returns text from a peer in a form that is safe for a log line: without control characters and with a maximum
/// length.
func printable(_ text: String, limit: Int = 200) -> String {
    var result = ""
    var length = 0
    for scalar in text.unicodeScalars {
        if length == limit { return result + "…" }
        let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
        result.unicodeScalars.append(isControl ? "?" : scalar)
        length += 1
    }
    return result
}
