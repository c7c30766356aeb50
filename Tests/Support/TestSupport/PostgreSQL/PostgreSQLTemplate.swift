import FoundationEssentials

/// The files of a new database cluster, made once per process, because that takes longer than starting a server.
actor PostgreSQLTemplate {
    static let shared = PostgreSQLTemplate()

    private var making: Task<WatchedDirectory, any Error>?

    func path() async throws -> String {
        let making = self.making ?? Task { try await Self.make() }
        self.making = making
        return try await making.value.path + "/data"
    }

    private static func make() async throws -> WatchedDirectory {
        let directory = try WatchedDirectory()
        try await PostgreSQLServer.check(
            PostgreSQLServer.command([
                PostgreSQLServer.program("initdb"), "-D", directory.path + "/data", "-U", PostgreSQLServer.user, "-A",
                "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1",
            ]))
        let file = directory.path + "/data/postgresql.conf"
        let settings = """

            shared_buffers = '16MB'
            max_connections = 40
            max_wal_senders = 4
            max_wal_size = '512MB'
            wal_keep_size = '64MB'
            autovacuum = off
            wal_receiver_status_interval = '1s'
            dynamic_shared_memory_type = 'mmap'

            """
        let old = try String(contentsOfFile: file, encoding: .utf8)
        try (old + settings).write(toFile: file, atomically: false, encoding: .utf8)
        return directory
    }
}
