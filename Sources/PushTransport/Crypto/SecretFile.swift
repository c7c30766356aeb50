import Glibc

/// Permissions of files that hold private keys or passwords.
package enum SecretFile {
    /// A sentence about each file that users other than its owner and its group may read, or that others than its owner
    /// may change. Files that cannot be looked at are left out: reading them says why.
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
