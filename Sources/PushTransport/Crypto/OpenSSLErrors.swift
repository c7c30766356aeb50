private import COpenSSL

/// What OpenSSL left in this thread's error queue, oldest first.
struct OpenSSLErrors {
    struct Entry {
        let library: CInt
        let reason: CInt
        let text: String
    }

    private(set) var entries: [Entry] = []

    /// Empties the queue. What is found is what failed since `clear`.
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

    /// Before every call whose failure is to be told apart from earlier ones.
    @inline(__always)
    static func clear() {
        ERR_clear_error()
    }

    /// The first reason of the TLS library.
    var tlsReason: CInt? {
        entries.first { $0.library == ERR_LIB_SSL }?.reason
    }

    func contains(library: CInt, reason: CInt) -> Bool {
        entries.contains { $0.library == library && $0.reason == reason }
    }

    /// Something was to be done for which no provider is loaded.
    var saysUnsupported: Bool {
        entries.contains { COpenSSL_is_unsupported($0.reason) == 1 }
    }

    /// For people: what failed, the cause first. Peers influence it, hence the bound.
    var text: String {
        var seen: [String] = []
        for entry in entries where !seen.contains(entry.text) {
            seen.append(entry.text)
        }
        return seen.isEmpty ? "no cause given" : printable(seen.joined(separator: "; "), limit: 300)
    }
}

/// Text that a peer had a hand in, made fit for a log line: no control characters, no endless length.
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
