/// The version of libpq.
package enum PostgreSQLLibrary {
    /// Returns the version of the installed library; nil if it cannot be loaded.
    package static func version() -> String? {
        guard let library = try? LibPQ.shared() else { return nil }
        // From version 10 on, a number such as 150013 is 15.13.
        let number = library.functions.PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
