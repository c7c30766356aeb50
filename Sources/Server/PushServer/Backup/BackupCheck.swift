import Glibc
package import PushConfiguration
import PushStore
import PushTransport

extension BackupFile {
    /// Returns the SHA-256 of the rest of a file, as text.
    static func digest(_ descriptor: CInt, of path: String) throws(StartError) -> String {
        var hasher = SHA256Hasher()
        try read(descriptor, of: path) { (piece) throws(StartError) in hasher.update(piece) }
        return hasher.finish().hex
    }
}

/// Compares a backup with its manifest and examines its databases. Nothing is changed, so that the backup may be on a
/// medium that is read-only.
package enum BackupCheck {
    /// Returns the manifest of a backup in which everything is as it says. It blocks.
    ///
    /// - Throws: ``StartError`` with all that is wrong: `badInput`.
    package static func run(
        _ directory: String, report: BackupReport = { _, _, _ in }
    ) throws(StartError) -> BackupManifest {
        let directory = BackupFile.trimmed(directory)
        let manifest = try BackupManifest.read(in: directory)
        var faults: [StartError] = []
        for file in manifest.files {
            report(file.name, 0, Int(clamping: file.size))
            do throws(StartError) {
                try compare(file, in: directory)
                report(file.name, Int(clamping: file.size), Int(clamping: file.size))
            } catch {
                faults.append(error)
            }
        }
        // A database that is not the one of the manifest is not worth an examination.
        if let fault = StartError.joined(faults) { throw fault }
        try examine(manifest, in: directory)
        return manifest
    }

    private static func compare(_ file: BackupManifest.File, in directory: String) throws(StartError) {
        let path = "\(directory)/\(file.name)"
        guard BackupFile.exists(path) else {
            throw StartError(.badInput, "\(path) is missing; use another backup")
        }
        let (descriptor, size) = try BackupFile.open(path)
        defer { close(descriptor) }
        guard size == file.size else {
            throw StartError(
                .badInput, "\(path) has \(size) bytes, and the manifest says \(file.size); use another backup")
        }
        guard try BackupFile.digest(descriptor, of: path) == file.sha256 else {
            throw StartError(
                .badInput, "\(path) is not the file of the manifest: its SHA-256 differs; use another backup")
        }
    }

    private static func examine(_ manifest: BackupManifest, in directory: String) throws(StartError) {
        for file in manifest.files where [BackupFile.ledger, BackupFile.registry].contains(file.name) {
            let path = "\(directory)/\(file.name)"
            do throws(StoreError) {
                let problems = try FileSnapshot.problems(of: path)
                guard problems.isEmpty else {
                    throw StoreError(.damaged, "\(path) is damaged: \(problems.joined(separator: "; "))")
                }
                if file.name == BackupFile.ledger {
                    let facts = try LedgerFacts(of: path)
                    guard facts.newest == manifest.seq, facts.events == manifest.events, facts.version == file.version
                    else {
                        throw StoreError(
                            .damaged,
                            "\(path) has \(facts.events) events up to \(facts.newest), and the manifest says "
                                + "\(manifest.events) up to \(manifest.seq)")
                    }
                } else {
                    let facts = try RegistryFacts(of: path)
                    guard facts.devices == manifest.devices, facts.applied <= manifest.seq,
                        facts.version == file.version
                    else {
                        throw StoreError(
                            .damaged,
                            "\(path) has \(facts.devices) devices, and the manifest says \(manifest.devices)")
                    }
                }
            } catch {
                throw StartError(.badInput, "\(error.description); use another backup")
            }
        }
    }
}
