import PushSQLite

/// A database file that appears in another directory without being copied. What is written there stays there.
package struct ShownDatabase: Sendable {
    private let overlay: FileOverlay

    /// Shows a file at `path`, where there must be none. Returns nil if that is not possible; `errno` has the reason.
    ///
    /// - Parameter original: A descriptor for reading, which is taken over.
    package init?(at path: String, showing original: CInt) {
        guard let overlay = FileOverlay.lay(over: path, showing: original) else { return nil }
        self.overlay = overlay
    }

    /// Whether a read has found that another process changed the file.
    package var hasChanged: Bool { overlay.hasChanged }
}
