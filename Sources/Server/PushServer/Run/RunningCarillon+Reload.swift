import PushAPI
import PushConfiguration
import PushLoop
import PushTime

extension RunningCarillon {
    /// Reads the configuration again and applies the changes that need no other files, rights first.
    ///
    /// Credentials and certificates are read after it returns, because a file system that hangs must not delay the
    /// removal of a right. The line `reloaded` is logged when they are applied, too.
    @discardableResult
    func reload() async -> ReloadAnswer {
        await reloadQueue.run { [self] in
            supervisor.reloading()
            let answer = await reloadNow()
            supervisor.ready(status: await health.readiness().sentence)
            return answer
        }
    }

    /// Returns the configuration in force, and what in the file differs from it.
    func describeConfiguration() async -> ConfigurationAnswer {
        let current = configuration.withLock { $0 }
        var answer = ConfigurationAnswer(
            file: source.file, settings: current.settings.map { .init($0) }, differences: [], faults: [])
        do {
            let parsed = try await configurationFile.run { [source] in try source.read() }
            answer.differences = current.changes(to: parsed.configuration).map { .init($0) }
        } catch {
            answer.faults = (error as? ConfigurationError)?.faults.map(\.description) ?? ["\(error)"]
        }
        return answer
    }

    private func reloadNow() async -> ReloadAnswer {
        let log = logs.reloads
        let parsed: Configuration.Parsed
        do {
            parsed = try await configurationFile.run { [source] in try source.read() }
            zones.replace(with: try await base.readZones(insteadOf: zones.current))
        } catch {
            let faults = (error as? ConfigurationError)?.faults.map(\.description) ?? ["\(error)"]
            // Every fault has its own line, so that all of them can be corrected at once.
            for fault in faults { log.error("\(fault)", [.event: "configuration.refused"]) }
            log.error(
                "configuration not reloaded, the old one stays in force",
                [.event: "configuration.refused", .count: faults.count])
            return ReloadAnswer(refused: faults)
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
            return ReloadAnswer(refused: ["cannot apply security.clients: \(error)"])
        }
        configuration.withLock { $0 = new }
        catalog.update(new.catalog, families: new.families, storesLocalTimes: pipeline.storesLocalTimes(of: new))
        logs.update(new.log)
        // The changes that apply at once are in force now.
        for change in changes { log.notice("\(change.description)") }
        fileReloads.add(new, changes: changes.count)
        return ReloadAnswer(changes: changes, warnings: parsed.warnings.map(\.description))
    }
}
