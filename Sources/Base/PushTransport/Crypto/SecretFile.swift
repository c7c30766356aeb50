import Glibc

/// Permissions of files that hold private keys or passwords.
package enum SecretFile {
    /// Returns a warning for each file that other users can read, or that its group or other users can change. Files
    /// that cannot be examined are skipped: reading them reports the reason.
    package static func cautions(_ paths: [String]) -> [String] {
        var seen: Set<String> = []
        return paths.filter { seen.insert($0).inserted }.compactMap(caution)
    }

    private static func caution(_ path: String) -> String? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        let mode = status.st_mode & 0o777
        let octal = "0" + String(mode, radix: 8)
        if mode & 0o022 != 0 {
            return "other users may change \(path), which holds a secret (mode \(octal)): chmod 600"
        }
        if mode & 0o004 != 0 { return "every user may read \(path), which holds a secret (mode \(octal)): chmod 600" }
        return nil
    }
}
