import FoundationEssentials
import Testing

/// Tests that `Documentation/Errors.md` is the page that the code makes.
@Suite struct ErrorsPageTests {
    private static let root = #filePath.split(separator: "/").dropLast(5).map { "/\($0)" }.joined()

    @Test func `The page of errors has each word of the code, with its meaning`() throws {
        let page = "\(Self.root)/Documentation/Errors.md"
        let shown = try String(contentsOf: URL(filePath: page), encoding: .utf8)
        guard shown != ErrorsPage.text else { return }
        let made = "\(Self.root)/.build/Errors.md"
        try Data(ErrorsPage.text.utf8).write(to: URL(filePath: made))
        Issue.record("the code makes another page: compare it, then run cp \(made) \(page)")
    }
}
