import CPostgreSQL
import PushLoop

/// The functions of libpq, which is loaded when they are first needed.
@safe
final class LibPQ: @unchecked Sendable {
    // Unchecked: the table is written only in `init`.
    let functions: CPostgreSQL_functions

    private static let loaded = Locked<LibPQ?>(nil)

    /// Returns the table of this process. A failure is not kept: a process without a free descriptor may have one later,
    /// and an operator may install the library while it runs.
    static func shared() throws(PostgreSQLError) -> LibPQ {
        if let known = loaded.withLock({ $0 }) { return known }
        let new = try LibPQ(library: "libpq.so.5")
        loaded.withLock { $0 = new }
        return new
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
