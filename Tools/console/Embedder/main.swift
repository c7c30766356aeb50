import Foundation

// Usage: ConsoleEmbedder OUTPUT FILE...
// Writes the texts of the files into a Swift file, as literals. The plugin EmbedConsole runs it.

func fail(_ reason: String) -> Never {
    try? FileHandle.standardError.write(contentsOf: Data("error: \(reason)\n".utf8))
    exit(1)
}

/// Returns a Swift literal of the text.
func literal(_ text: String) -> String {
    var hashes = "#"
    while text.contains("\"\"\"\(hashes)") || text.contains("\\\(hashes)") { hashes += "#" }
    return "\(hashes)\"\"\"\n\(text)\n\"\"\"\(hashes)"
}

func entry(for path: String) throws -> String {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    // The compiler reads other line ends as LF, and ends the file at a null character.
    guard text.hasSuffix("\n"), !text.utf8.contains(where: { $0 == 13 || $0 == 0 }) else {
        fail("\(path): expected a text file with LF line ends, and one at its end")
    }
    let name = path.split(separator: "/").last ?? ""
    return "        ConsoleFile(name: \"\(name)\", text: \(literal(text))),\n"
}

do {
    let paths = CommandLine.arguments.dropFirst()
    guard let output = paths.first else { fail("usage: ConsoleEmbedder OUTPUT FILE...") }
    let entries = try paths.dropFirst().map(entry).joined()
    try "extension ConsoleFile {\n    static let all: [ConsoleFile] = [\n\(entries)    ]\n}\n"
        .write(toFile: output, atomically: true, encoding: .utf8)
} catch {
    fail("\(error)")
}
