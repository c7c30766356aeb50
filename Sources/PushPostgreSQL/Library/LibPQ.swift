import CPostgreSQL

/// The functions of libpq, which is loaded when they are first needed.
@safe
final class LibPQ: @unchecked Sendable {
    // Unchecked: the table is written only in `init`.
    let functions: CPostgreSQL_functions

    /// The table of this process. The library is loaded once, also if that fails.
    static let shared: Result<LibPQ, PostgreSQLError> = Result { () throws(PostgreSQLError) in
        try LibPQ(library: "libpq.so.5")
    }

    init(library: String) throws(PostgreSQLError) {
        var functions = CPostgreSQL_functions()
        var reason = [CChar](repeating: 0, count: 512)
        guard unsafe CPostgreSQL_load(library, &functions, &reason, reason.count) != 0 else {
            let text = String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw PostgreSQLError(
                message: "\(library) cannot be loaded: \(text); install the library (in Debian: libpq5)")
        }
        self.functions = functions
    }
}
