//! A proxy before a server that keeps every answer until the client's next request, as a follower of ZooKeeper
//! 3.6.0 to 3.8.0 does now and then (ZOOKEEPER-4537).

use std::io::{Read, Result, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Starts one, and returns where it listens. It ends with the process, its connections with their clients.
pub(crate) fn holding_proxy(server: SocketAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for client in listener.incoming() {
            serve(&client?, server)?;
        }
        Ok::<_, std::io::Error>(())
    });
    Ok(address)
}

fn serve(client: &TcpStream, server: SocketAddr) -> Result<()> {
    let server = TcpStream::connect(server)?;
    let (requested, requests) = channel();
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || pass_requests(from_client, to_server, &requested));
    let to_client = client.try_clone()?;
    thread::spawn(move || hold_answers(server, to_client, &requests));
    Ok(())
}

fn pass_requests(mut client: TcpStream, mut server: TcpStream, requested: &Sender<()>) -> Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let length = client.read(&mut bytes)?;
        if length == 0 {
            return server.shutdown(Shutdown::Both);
        }
        // Before the request is sent: its answer is to wait for the next one.
        let _ = requested.send(());
        server.write_all(&bytes[..length])?;
    }
}

fn hold_answers(mut server: TcpStream, mut client: TcpStream, requests: &Receiver<()>) -> Result<()> {
    let mut bytes = [0; 4096];
    // Until there is a session, clients cannot ask for anything else.
    let mut holds = false;
    loop {
        let length = server.read(&mut bytes)?;
        if length == 0 {
            return client.shutdown(Shutdown::Both);
        }
        while requests.try_recv().is_ok() {}
        if holds && requests.recv().is_err() {
            return Ok(());
        }
        client.write_all(&bytes[..length])?;
        holds = true;
    }
}
