import FoundationEssentials
import Testing

@testable import PushAPI

/// The lists in `Documentation/ComingFrom.md`.
@Suite struct GorushPageTests {
    /// Returns the keys in the rows whose first cell is one of these.
    private static func keys(in rows: String...) throws -> Set<String> {
        let package = #filePath.split(separator: "/").dropLast(5).map { "/\($0)" }.joined()
        let page = String(
            decoding: try Data(contentsOf: URL(filePath: "\(package)/Documentation/ComingFrom.md")), as: UTF8.self)
        var found: Set<String> = []
        for line in page.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.drop { $0 == " " } }
            guard cells.count == 2, rows.contains(where: { cells[0] == "\($0) " }) else { continue }
            let parts = cells[1].split(separator: "`", omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() where index % 2 == 1 { found.insert("\(part)") }
        }
        return found
    }

    private static func keys(_ use: GorushKey.Use, on platform: GorushPlatform) -> Set<String> {
        Set(GorushKey.allCases.filter { $0.use(on: platform) == use }.map(\.rawValue))
    }

    @Test("The page lists what is taken over, what has no effect, and what is refused")
    func lists() throws {
        for (platform, word) in [(GorushPlatform.ios, "platform 1"), (.android, "platform 2")] {
            #expect(try Self.keys(in: "taken over", "taken over, \(word)") == Self.keys(.taken, on: platform))
            #expect(try Self.keys(in: "no effect", "no effect, \(word)") == Self.keys(.ignored, on: platform))
            #expect(try Self.keys(in: "refused, \(word)") == Self.keys(.refused, on: platform))
        }
    }
}
