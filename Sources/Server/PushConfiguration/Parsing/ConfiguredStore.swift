import FoundationEssentials
package import PushPostgreSQL

/// The database of a cluster as a configuration names it, for commands that work on it while no node needs to run. Other
/// faults of the configuration are ignored, so that these commands work while somebody edits it.
package struct ConfiguredStore: Sendable {
    package let options: PostgreSQLOptions
    package let durability: PostgreSQLDurability

    private static let variable = "CARILLON_STORE"

    /// Reads the settings of the database from a file and the variables of the environment. The variable of the database
    /// is enough.
    package static func read(
        file flag: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StartError) -> ConfiguredStore {
        let path = ConfigurationFile.locate(flag: flag, environment: environment)
        guard path != nil || environment[variable]?.isEmpty == false else {
            let failure = ConfigurationFile.notFound()
            throw StartError(failure.code, "\(failure); or name the database with its URL")
        }
        let draft = try draft(path, environment: environment)
        guard let store = draft.values.store else {
            throw StartError(
                .configuration,
                "\(path ?? variable) has no store; add store: \"postgres://USER@HOST/DATABASE\", or name the database with "
                    + "its URL")
        }
        return ConfiguredStore(options: store.options, durability: durability(of: draft))
    }

    /// Returns the durability that a configuration asks for, whether or not it names a database.
    package static func durability(
        file: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StartError) -> PostgreSQLDurability {
        durability(of: try draft(file, environment: environment))
    }

    private static func durability(of draft: ConfigurationDraft) -> PostgreSQLDurability {
        draft.cluster.durability == .single ? .single : .replicated
    }

    private static func draft(
        _ path: String?, environment: [String: String]
    ) throws(StartError) -> ConfigurationDraft {
        let name = path ?? variable
        let text = try path.map { path throws(StartError) in try ConfigurationFile.read(path) } ?? Array("{}".utf8)
        do {
            let reader = ConfigurationReader(file: name, environment: environment, flags: [:])
            let root = reader.root(try Configuration.tree(text, file: name))
            let durability = ConfigurationDraft.cluster.filter { $0.path == ["cluster", "durability"] }
            let draft = ([ConfigurationDraft.store] + durability).read(
                from: root, into: ConfigurationDraft(Configuration()))
            guard reader.faults.isEmpty else { throw ConfigurationError(faults: reader.faults) }
            return draft
        } catch let error as ConfigurationError {
            throw error.failure
        } catch {
            throw StartError(.configuration, "\(name): \(error)")
        }
    }
}
