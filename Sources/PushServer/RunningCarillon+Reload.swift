import PushConfiguration
import PushLoop

extension RunningCarillon {
    /// Reads the configuration again and applies the changes that need no other files, rights first.
    ///
    /// Credentials and certificates are read after it returns, because a file system that hangs must not delay the
    /// removal of a right. The line `reloaded` is logged when they are applied, too.
    func reload() async {
        let log = logs.reloads
        let parsed: Configuration.Parsed
        do {
            parsed = try await configurationFile.run { [source] in try source.read() }
        } catch {
            let faults = (error as? ConfigurationError)?.faults.map(\.description) ?? ["\(error)"]
            // Every fault has its own line, so that all of them can be corrected at once.
            for fault in faults { log.error("\(fault)", [.event: "configuration.refused"]) }
            log.error(
                "configuration not reloaded, the old one stays in force",
                [.event: "configuration.refused", .count: faults.count])
            return
        }
        for warning in parsed.warnings { log.warning("\(warning.description)") }
        let old = configuration.withLock { $0 }
        let changes = old.changes(to: parsed.configuration)
        let new = old.reloaded(to: parsed.configuration)
        do {
            try await pipeline.reload(new)
        } catch {
            log.error(
                "cannot apply security.clients: configuration not reloaded, the old one stays in force",
                [.event: "configuration.refused", .error: "\(error)"])
            return
        }
        configuration.withLock { $0 = new }
        logs.update(new.log)
        // The changes that apply at once are in force now.
        for change in changes { log.notice("\(change.description)") }
        fileReloads.add(new, changes: changes.count)
    }
}
