/// The mark of a ledger that was imported into the store of a cluster. A single node must not send its messages any more.
enum ImportRecord {
    /// Returns the store; nil if the ledger was not imported.
    static func read(_ connection: SQLiteConnection) throws(StoreError) -> String? {
        let find = try connection.prepare("SELECT value FROM meta WHERE name = 'imported'")
        defer { find.reset() }
        return try find.step() ? find.text(0) : nil
    }

    /// Writes the mark. Returns when it is on disk.
    static func write(_ store: String, to connection: SQLiteConnection) throws(StoreError) {
        let add = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('imported', ?)")
        add.bind(1, store)
        try add.run()
    }

    /// Throws an error if the ledger was imported.
    static func refuse(_ connection: SQLiteConnection) throws(StoreError) {
        guard let store = try read(connection) else { return }
        throw StoreError(
            .unsuitable,
            "\(connection.path) was imported into the store of a cluster, which sends its messages: \(store); set store "
                + "and cluster.node in the configuration, or name another data directory")
    }
}
