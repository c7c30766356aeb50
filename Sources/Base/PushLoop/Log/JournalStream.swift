import Glibc

/// The connection of a process to the journal of systemd.
package enum JournalStream {
    /// Returns whether the descriptor is connected to the journal. `JOURNAL_STREAM` names the device and the inode of
    /// that connection. The program may have redirected the descriptor since then, so both are compared.
    package static func isJournal(descriptor: CInt) -> Bool {
        guard let name = unsafe getenv("JOURNAL_STREAM") else { return false }
        return isStream(unsafe String(cString: name), descriptor: descriptor)
    }

    static func isStream(_ name: String, descriptor: CInt) -> Bool {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return false }
        return name == "\(status.st_dev):\(status.st_ino)"
    }
}
