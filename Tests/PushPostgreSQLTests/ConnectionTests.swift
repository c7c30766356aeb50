import PushLoop
import PushPostgreSQL
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ConnectionTests {
    @Test func `A section is committed and answered`() async throws {
        let server = try await PostgreSQLServer.start()
        let connection = try await TestConnection(server.url())
        let results = try await connection.run("SELECT 5 AS five").results()
        #expect(try results[0].row().value(0, as: Int32.self) == 5)
        await connection.close()
    }
}
