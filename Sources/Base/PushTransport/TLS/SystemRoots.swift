private import COpenSSL
import Glibc

/// The root certificates of the system. If there are none, OpenSSL reports no error and then trusts no certificate, as
/// happens in a minimal container.
package enum SystemRoots {
    /// Returns whether root certificates exist at OpenSSL's default places.
    package static func areInstalled() -> Bool {
        let file = unsafe path(in: X509_get_default_cert_file_env(), default: X509_get_default_cert_file())
        let directory = unsafe path(in: X509_get_default_cert_dir_env(), default: X509_get_default_cert_dir())
        return areInstalled(file: file, directories: directory)
    }

    /// Returns whether root certificates exist. `directories` may contain several paths, separated by colons.
    package static func areInstalled(file: String, directories: String) -> Bool {
        var status = stat()
        if unsafe stat(file, &status) == 0, status.st_size > 0 { return true }
        return directories.split(separator: ":").contains { hasEntries(String($0)) }
    }

    /// Returns the value of an environment variable, or the standard path if it is not set.
    private static func path(in variable: UnsafePointer<CChar>?, default standard: UnsafePointer<CChar>?) -> String {
        if let variable = unsafe variable, let value = unsafe getenv(variable) { return unsafe String(cString: value) }
        return unsafe standard.map { unsafe String(cString: $0) } ?? ""
    }

    private static func hasEntries(_ path: String) -> Bool {
        guard let directory = unsafe opendir(path) else { return false }
        defer { unsafe closedir(directory) }
        var count = 0
        // Two entries are the directory itself and its parent.
        while count < 3, unsafe readdir(directory) != nil { count += 1 }
        return count >= 3
    }
}
