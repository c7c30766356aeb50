import PushConfiguration
import PushLoop
import PushPostgreSQL
import PushStore
import PushTransport

/// One command for a store: the database that it concerns, and the threads that look up its hosts.
struct StoreCommand {
    let access: StoreAccess
    /// The database, without its password.
    var name: String { access.options.description }

    /// Runs `body` with the database of the command line or of the configuration.
    static func run(
        _ arguments: Arguments, body: (StoreCommand) async throws -> ExitCode
    ) async throws -> ExitCode {
        let (options, durability) = try database(arguments)
        let pool = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 64)
        let names = NameResolver(pool: pool)
        let access = StoreAccess(options, durability: durability) { host in
            try await names.resolve(HostPort(host: host.name, port: host.port)).map(\.ip)
        }
        let result = await Result { try await body(StoreCommand(access: access)) }
        // A lookup that hangs is not waited for.
        if pool.load == (0, 0) { await pool.shutDown() }
        return try result.get()
    }

    /// Returns the findings about the database of a configuration.
    static func report(file: String?) async throws -> StoreReport {
        let configured = try ConfiguredStore.read(file: file)
        let pool = BlockingPool(name: "resolve", threadCount: 2, queueLimit: 64)
        let names = NameResolver(pool: pool)
        let access = StoreAccess(configured.options, durability: configured.durability) { host in
            try await names.resolve(HostPort(host: host.name, port: host.port)).map(\.ip)
        }
        let report = await StoreCheck(access).report()
        if pool.load == (0, 0) { await pool.shutDown() }
        return report
    }

    private static func database(
        _ arguments: Arguments
    ) throws -> (options: PostgreSQLOptions, durability: PostgreSQLDurability) {
        guard let url = arguments.wordIfGiven("URL") else {
            let configured = try ConfiguredStore.read(file: arguments.text("config"))
            return (configured.options, try durability(arguments) ?? configured.durability)
        }
        let options: PostgreSQLOptions
        do throws(PostgreSQLError) {
            options = try PostgreSQLURL.parse(url)
        } catch {
            throw Failure(.usage, error.message)
        }
        if let durability = try durability(arguments) { return (options, durability) }
        guard let file = arguments.text("config") else { return (options, .replicated) }
        return (options, try ConfiguredStore.durability(file: file))
    }

    private static func durability(_ arguments: Arguments) throws -> PostgreSQLDurability? {
        guard let word = arguments.text("durability") else { return nil }
        guard let durability = PostgreSQLDurability(rawValue: word) else {
            throw Failure(.usage, "'--durability' must be replicated or single, not '\(word)'")
        }
        return durability
    }

    /// Returns the error with its exit status.
    static func failure(_ error: any Error) -> Failure {
        guard let error = error as? StoreError else { return Failure(error) }
        let code: ExitCode =
            switch error.code {
            case .cannotOpen: .unavailable
            case .notPermitted: .notPermitted
            default: .failed
            }
        return Failure(code, error.description)
    }
}

extension Result where Failure == any Error {
    /// Creates the result of a call that suspends.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
