/// Paths that are written in a file.
enum FilePath {
    /// Returns a path that is written in `file`, resolved against the directory of `file`.
    static func resolve(_ path: String, besideFile file: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        var path = path[...]
        while path.hasPrefix("./") { path = path.dropFirst(2) }
        guard let slash = file.lastIndex(of: "/") else { return path.isEmpty ? "." : String(path) }
        return String(file[...slash] + path)
    }
}
