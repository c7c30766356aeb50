// Sends one notification to Carillon and waits for its status: Producer.java ENDPOINT APP TOKEN [TEXT [ID]]
//
// Exit status: 0 accepted or duplicate, 1 rejected, 75 no final answer (keep the message and run this again with the
// same ID: each device receives it once). The variable PATIENCE is the time limit in seconds (60).
// Needs Java 17 and libzmq-java, Debian's binding to libzmq (JeroMQ 0.3 speaks ZMTP 2, which Carillon refuses):
// java -cp /usr/share/java/jzmq.jar -Djava.library.path=/usr/lib/x86_64-linux-gnu/jni Producer.java ENDPOINT …
import java.util.UUID;
import java.util.regex.*;
import org.zeromq.*;

class Producer {
    static final int ANSWER_TIME = 2000; // milliseconds after which the request is sent again

    /** Returns the final ack, or null after `patience` seconds without one. */
    static String push(String endpoint, String envelope, double patience) throws InterruptedException {
        ZMQ.Socket socket = ZMQ.context(1).socket(ZMQ.DEALER);
        socket.setLinger(0);
        socket.setSendTimeOut(ANSWER_TIME);
        socket.setReceiveTimeOut(ANSWER_TIME);
        socket.setImmediate(true); // Nothing is queued for a connection that does not exist yet.
        socket.connect(endpoint);
        long deadline = System.nanoTime() + (long) (patience * 1e9);
        while (System.nanoTime() < deadline) {
            // Without a connection or an answer in time, the same request is sent again, with the same id.
            if (!socket.send("push/1", ZMQ.SNDMORE) || !socket.send(envelope)) continue;
            if (socket.recv() == null) continue; // "ack/1"
            String ack = new String(socket.recv(), java.nio.charset.StandardCharsets.UTF_8);
            if (!member(ack, "status").equals("busy")) return ack;
            long left = Math.max(0, (deadline - System.nanoTime()) / 1_000_000 + 1);
            Thread.sleep(Math.min(left, Long.parseLong(member(ack, "retry_after_ms"))));
        }
        return null;
    }

    /** Java has no JSON library of its own. The words and numbers of an ack need no more than this. */
    static String member(String ack, String key) {
        Matcher found = Pattern.compile("\"" + key + "\"\\s*:\\s*\"?([a-z0-9_]+)").matcher(ack);
        return found.find() ? found.group(1) : "";
    }

    static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray())
            if (c < ' ' || c == '"' || c == '\\') json.append(String.format("\\u%04x", (int) c));
            else json.append(c);
        return json.append('"').toString();
    }

    public static void main(String[] words) throws InterruptedException {
        if (words.length < 3 || words.length > 5) {
            System.out.println("usage: Producer.java ENDPOINT APP TOKEN [TEXT [ID]]");
            System.exit(64);
        }
        String id = words.length > 4 ? words[4] : UUID.randomUUID().toString();
        String envelope = String.format("{\"id\":%s,\"app\":%s,\"to\":{\"tokens\":[%s]},\"alert\":%s}", quoted(id),
            quoted(words[1]), quoted(words[2]), quoted(words.length > 3 ? words[3] : "Hello"));
        String patience = System.getenv().getOrDefault("PATIENCE", "60");
        String ack = push(words[0], envelope, Double.parseDouble(patience));
        if (ack == null) System.err.println(id + ": no final answer; send the message again with the same id");
        else System.out.println(ack);
        System.exit(ack == null ? 75 : member(ack, "status").equals("rejected") ? 1 : 0);
    }
}
